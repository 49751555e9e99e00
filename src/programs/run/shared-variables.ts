// The environment variables of options that mean the same for every command.

export const SHARED_OPTIONS: ReadonlySet<string> = new Set(['kubeconfig', 'context'])

const PREFIX = 'KUBENODE'

/** The variable of an option: for `kubeconfig`, the one that may name the file. */
export const sharedVariable = (option: string): string => `${PREFIX}_${option.replaceAll('-', '_').toUpperCase()}`
