// The variables of the environment that name the credentials of a git server.
/** The token itself, where an option names its file: pipelines have it in a variable, and a list of processes shows no token. */
export const GIT_VARIABLES = {
  username: 'KUBENODE_GIT_USERNAME',
  token: 'KUBENODE_GIT_TOKEN',
  ca: 'KUBENODE_GIT_CA',
  sshKey: 'KUBENODE_GIT_SSH_KEY',
  knownHosts: 'KUBENODE_GIT_KNOWN_HOSTS',
} as const
