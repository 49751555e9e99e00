// The task of the program in the place of git: read from its standard input, where no other user of the machine can read the credentials.

export interface Server {
  readonly url: string
  /** The value of the header. */
  readonly authorization?: string
  /** As PEM; those of the system do not count then. */
  readonly authorities?: string
  /** With its credentials. */
  readonly proxy?: string
  /** The only addresses that are called, of each name that was looked up and checked. */
  readonly pins: readonly { readonly host: string; readonly addresses: readonly string[] }[]
  /** Of one answer. */
  readonly maxBytes: number
}

export interface FetchTask extends Server {
  readonly kind: 'Fetch'
  /** A bare repository. */
  readonly dir: string
  /** A ref of the server, or a commit. */
  readonly from: string
  /** Ours, which is moved. */
  readonly to: string
}

export interface ListTask extends Server {
  readonly kind: 'List'
  /** Beginnings of names. */
  readonly prefixes: readonly string[]
}

export interface PushTask extends Server {
  readonly kind: 'Push'
  /** Folders of objects: the new ones, and those of the copy. */
  readonly objects: readonly string[]
  readonly commit: string
  readonly ref: string
  /** Where the ref must be; undefined: it must not exist. */
  readonly expected?: string
}

export type Task = FetchTask | ListTask | PushTask

/** How the program ends when it is not for git's own words to say. */
export const EXIT = { tooLarge: 71, shallow: 72 } as const
