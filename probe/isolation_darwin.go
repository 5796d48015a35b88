package probe

func (portableEngine) properties(j *job) []PropertyStatus {
	return portableProperties(j.network, false, j.spaces...)
}
