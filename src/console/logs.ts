// The log of one component on one machine, as the server passes it on. Types only.

/** POST /api/logs. */
export interface LogAsked {
  readonly cluster: string
  readonly machine: string
  readonly component: string
}

/** One line of the answer, which is JSON by lines until the log or the reader ends. */
export type LogPart =
  /** Lines of the log, masked by the agent. */
  | { readonly lines: readonly string[] }
  /** What is missing, or why it ended. */
  | { readonly note: string }
  /** Nothing more follows. */
  | { readonly end: string }
