// The task of the program that replaces git: read from standard input, so that no other user of the machine can read the credentials.

export interface Server {
  readonly url: string
  /** The value of the header. */
  readonly authorization?: string
  /** PEM certificates; if set, the system's authorities are not trusted. */
  readonly authorities?: string
  /** The proxy URL with its credentials. */
  readonly proxy?: string
  /** The only addresses that are called, for each name that was resolved and checked. */
  readonly pins: readonly { readonly host: string; readonly addresses: readonly string[] }[]
  /** Size limit of one answer. */
  readonly maxBytes: number
}

export interface FetchTask extends Server {
  readonly kind: 'Fetch'
  /** A bare repository. */
  readonly dir: string
  /** A ref on the server, or a commit. */
  readonly from: string
  /** The local ref to move. */
  readonly to: string
}

export interface ListTask extends Server {
  readonly kind: 'List'
  /** Prefixes of ref names. */
  readonly prefixes: readonly string[]
}

export interface PushTask extends Server {
  readonly kind: 'Push'
  /** Object folders: the new one, and those of the copy. */
  readonly objects: readonly string[]
  readonly commit: string
  readonly ref: string
  /** Where the ref must be; undefined: it must not exist. */
  readonly expected?: string
}

export type Task = FetchTask | ListTask | PushTask

/** Exit codes for failures that git has no words for. */
export const EXIT = { tooLarge: 71, shallow: 72 } as const
