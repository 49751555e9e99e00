// The file system as the agent needs it: few operations, each small enough to be a point at which the power may fail.
// Paths are absolute. A missing path is undefined or empty, never an error; every other refusal is thrown.

export interface FileStat {
  readonly kind: 'File' | 'Directory' | 'Link' | 'Other'
  readonly size: number
  readonly modifiedMs: number
  /** When the entry itself last changed, which no program can set; absent where the medium does not record it. */
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
  /** The content is on the medium when this resolves. The entry in the folder is a separate matter: `syncFolder`. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Files {
  /** What is no file reads as empty. */
  read(path: string): Promise<Buffer | undefined>
  /** For files that may not fit into memory. A missing file is an error here. */
  stream(path: string): AsyncIterable<Buffer>
  /** Of the path itself: links are not followed. */
  stat(path: string): Promise<FileStat | undefined>
  /** Names, sorted. */
  list(path: string): Promise<readonly string[]>
  readLink(path: string): Promise<string | undefined>
  /** With all folders above it; `mode` is that of those that are made. */
  makeFolder(path: string, mode?: number): Promise<void>
  /** A new file; an existing one is refused. Without an owner it belongs to the agent. */
  create(path: string, mode: number, owner?: Owner): Promise<FileWriter>
  /**
   * A file or a link under a new name with all that the medium knows of it: content, mode, owner, times, and extended attributes such as capabilities, labels and
   * access lists; synced. False, and nothing made, where that is impossible.
   */
  copyWhole?(from: string, to: string): Promise<boolean>
  /** Appends to an existing file. Absent where that is impossible: the file is then written again. */
  append?(path: string): Promise<FileWriter>
  link(path: string, target: string, owner?: Owner): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** With everything below it; links are removed, not followed. */
  remove(path: string): Promise<void>
  /** False when something is in the folder, or there is none. */
  removeEmptyFolder(path: string): Promise<boolean>
  /** Makes created and deleted names in the folder durable. */
  syncFolder(path: string): Promise<void>
}
