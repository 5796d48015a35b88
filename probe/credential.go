package probe

import "strings"

// WithheldName reports whether name looks like that of a credential. Such a
// variable is withheld from every child even when it is admitted, because a
// manifest that admits it may be somebody else's.
//
// The rule is by name alone, case-insensitive, over the words between
// underscores, so that KEYBOARD and TOKENIZERS_PARALLELISM pass. A name is
// withheld when it holds a credential word (TOKEN, PASSWORD, SECRET and their
// like), when it ends in KEY or KEY_ID, or when it is of a family that cloud
// tools read credentials from. It protects from carelessness; a secret in a
// variable named COLOUR cannot be known for one, which is why nothing is
// admitted by default.
func WithheldName(name string) bool {
	upper := strings.ToUpper(name)
	for _, prefix := range credentialPrefixes() {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	words := strings.FieldsFunc(upper, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(words) == 0 {
		return false
	}
	for _, w := range words {
		// PWD by itself is the working directory; DB_PWD is a password.
		if isCredentialWord(w) && (w != "PWD" || len(words) > 1) {
			return true
		}
	}
	last := words[len(words)-1]
	if last == "ID" && len(words) > 1 {
		last = words[len(words)-2]
	}
	return strings.HasSuffix(last, "KEY") || strings.HasSuffix(last, "KEYS")
}

// isCredentialWord reports whether one word of a name makes it a credential's.
// The compound endings catch names written without underscores, GITHUBTOKEN and
// MYSQLPASSWORD.
func isCredentialWord(w string) bool {
	switch w {
	case "PASS", "PWD", "PW", "PAT", "PIN", "OTP", "AUTH", "CREDS", "CRED", "BEARER", "COOKIE", "COOKIES",
		"JWT", "SIGNATURE", "PASSWD", "DSN", "NETRC", "AUTHORIZATION", "SAS", "CERTKEY", "PEM", "PGPASS":
		return true
	}
	for _, ending := range []string{
		"TOKEN", "TOKENS", "PASSWORD", "PASSWORDS", "PASSPHRASE", "SECRET", "SECRETS", "CREDENTIAL", "CREDENTIALS",
		"APIKEY", "APIKEYS", "ACCESSKEY", "PRIVATEKEY", "PASSWD",
	} {
		if strings.HasSuffix(w, ending) {
			return true
		}
	}
	return false
}

// credentialPrefixes returns the families of variables that are withheld whole,
// because some of each are secrets whatever the rest of the name says.
func credentialPrefixes() []string {
	return []string{
		"AWS_", "AZURE_", "ARM_CLIENT_", "GOOGLE_APPLICATION_", "GOOGLE_CLOUD_", "GCP_", "GCLOUD_", "CLOUDSDK_AUTH_",
		"DIGITALOCEAN_", "HEROKU_", "CLOUDFLARE_", "OCI_CLI_", "ALICLOUD_", "ALIBABA_CLOUD_", "VAULT_", "KUBECONFIG",
		"DOCKER_CONFIG", "DOCKER_AUTH", "SSH_", "GPG_", "GITHUB_PAT", "NPM_CONFIG__AUTH", "NETRC", "PGPASS", "TWINE_",
		"CONNECTIONSTRING", "DATABASE_URL", "REDIS_URL", "MONGODB_URI", "MONGO_URL", "AMQP_URL",
	}
}
