// The file system as the agent needs it: few operations, each small enough to be a point at which the power may fail. Paths are absolute. A missing path
// is undefined or empty, never an error; any other failure throws.

export interface FileStat {
  readonly kind: 'File' | 'Directory' | 'Link' | 'Other'
  readonly size: number
  readonly modifiedMs: number
  /** Last change of the entry itself (ctime), which programs cannot set; absent where the medium does not record it. */
  readonly changedMs?: number
  readonly mode: number
  /** Absent where the medium does not record owners. */
  readonly owner?: Owner
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface FileWriter {
  write(chunk: Buffer): Promise<void>
  /** The content is on the medium when this resolves. The folder entry is not: call `syncFolder`. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Files {
  /** Anything that is not a file reads as empty. */
  read(path: string): Promise<Buffer | undefined>
  /** For files that may not fit into memory. A missing file is an error here. */
  stream(path: string): AsyncIterable<Buffer>
  /** SHA-256 in hex, where the medium computes it without its content coming here. */
  digest?(path: string): Promise<string>
  /** Describes the path itself: links are not followed. */
  stat(path: string): Promise<FileStat | undefined>
  /** Names, sorted. */
  list(path: string): Promise<readonly string[]>
  readLink(path: string): Promise<string | undefined>
  /** Also creates all parent folders; `mode` applies to the created ones. */
  makeFolder(path: string, mode?: number): Promise<void>
  /** Creates a new file; fails if it exists. Without an owner it belongs to the agent. */
  create(path: string, mode: number, owner?: Owner): Promise<FileWriter>
  /**
   * Copies a file or a link with everything that the medium stores: content, mode, owner, times, and extended attributes such as capabilities, labels and
   * access lists. Synced. Returns false, and creates nothing, where that is impossible.
   */
  copyWhole?(from: string, to: string): Promise<boolean>
  /** Appends to an existing file. Absent where that is impossible: the file is then written again. */
  append?(path: string): Promise<FileWriter>
  link(path: string, target: string, owner?: Owner): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Removes everything below the path too; links are removed, not followed. */
  remove(path: string): Promise<void>
  /** Returns false when the folder is not empty or does not exist. */
  removeEmptyFolder(path: string): Promise<boolean>
  /** Makes created and deleted names in the folder durable. */
  syncFolder(path: string): Promise<void>
}
