// An API server that a test started, and how its administrator reaches it.
export interface RunningServer {
  readonly url: string
  readonly ca: string
  /** Of a user in system:masters. */
  readonly cert: string
  readonly key: string
  /** A file for kubectl, in a folder that goes with the server. */
  readonly kubeconfig: string
  /** It refuses pods in a namespace without its default account, and nothing makes one. */
  readonly lacksAccounts?: boolean
  stop(): Promise<void>
}
