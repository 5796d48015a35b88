package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/load"
)

// hostEnvironment reads the facts of this host that numbers depend on, from
// /proc and /sys or their like. It runs no program.
func hostEnvironment(ctx context.Context, interpreter func(context.Context) (*Interpreter, string)) Environment {
	// gopsutil lets HOST_PROC and its like in our own environment point it
	// elsewhere; a record speaks of this host.
	fixed := context.WithValue(ctx, common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: "/proc", common.HostSysEnvKey: "/sys", common.HostEtcEnvKey: "/etc", common.HostVarEnvKey: "/var",
		common.HostRunEnvKey: "/run", common.HostDevEnvKey: "/dev", common.HostRootEnvKey: "/",
	})
	e := Environment{Unknown: Reasons{}}
	e.text("kernel", &e.Kernel, func() (string, error) {
		release, err := host.KernelVersionWithContext(fixed)
		if release == "" {
			return "", err
		}
		return operatingSystem() + " " + release, err
	})
	e.text("machine", &e.Machine, host.KernelArch)
	e.text("cpu_model", &e.CPUModel, func() (string, error) {
		all, err := cpu.InfoWithContext(fixed)
		if err != nil || len(all) == 0 {
			return "", err
		}
		return all[0].ModelName, nil
	})
	e.number("cpu_count", &e.CPUCount, func() (int64, error) {
		n, err := cpu.CountsWithContext(fixed, true)
		return int64(n), err
	})
	e.number("memory_bytes", &e.MemoryBytes, func() (int64, error) { return totalMemory(fixed) })
	e.text("governor", &e.Governor, governor)
	e.text("virtualisation", &e.Virtualisation, func() (string, error) {
		system, role, err := host.VirtualizationWithContext(fixed)
		if err == nil && system == "" {
			err = errors.New("nothing here tells of a virtual machine or container, which does not prove that there is none")
		}
		return strings.TrimSpace(system + " " + role), err
	})
	e.loadAverages(fixed)
	found, why := interpreter(ctx)
	if e.Interpreter = found; found == nil {
		e.Unknown["interpreter"] = clean(why)
	}
	return e
}

// text stores what get finds; nothing found is unknown.
func (e *Environment) text(key string, to **string, get func() (string, error)) {
	value, err := get()
	value = clean(value)
	if err == nil && value == "" {
		err = errors.New("the host does not tell")
	}
	if err != nil {
		e.Unknown[key] = clean(err.Error())
		return
	}
	*to = &value
}

func (e *Environment) number(key string, to **int64, get func() (int64, error)) {
	value, err := get()
	if err == nil && value <= 0 {
		err = fmt.Errorf("the host tells %d", value)
	}
	if err != nil {
		e.Unknown[key] = clean(err.Error())
		return
	}
	*to = &value
}

func (e *Environment) loadAverages(ctx context.Context) {
	avg, err := load.AvgWithContext(ctx)
	if err == nil && avg == nil {
		err = errors.New("the host does not tell")
	}
	if err != nil {
		e.Unknown["load"] = clean(err.Error())
		return
	}
	values := [3]float64{avg.Load1, avg.Load5, avg.Load15}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			e.Unknown["load"] = fmt.Sprintf("the host tells %v", v)
			return
		}
	}
	e.Load = &values
}
