// Environment variables for a git server's credentials.
/** The token itself, where the option names its file: pipelines keep it in a variable, which a process list does not show. */
export const GIT_VARIABLES = {
  username: 'KUBENODE_GIT_USERNAME',
  token: 'KUBENODE_GIT_TOKEN',
  ca: 'KUBENODE_GIT_CA',
  sshKey: 'KUBENODE_GIT_SSH_KEY',
  knownHosts: 'KUBENODE_GIT_KNOWN_HOSTS',
} as const
