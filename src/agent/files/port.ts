// The file system as the agent needs it: few operations, each small enough to be a point at which the power may go.
// Paths are absolute. What does not exist is undefined or empty, never an error; every other refusal is thrown.

export interface FileStat {
  readonly kind: 'File' | 'Directory' | 'Link' | 'Other'
  readonly size: number
  readonly modifiedMs: number
  /** When the entry itself last changed, which nobody can set; absent where the medium does not tell. */
  readonly changedMs?: number
  readonly mode: number
}

export interface FileWriter {
  write(chunk: Buffer): Promise<void>
  /** What was written is on the medium when this resolves. The entry in the folder is another matter: `syncFolder`. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Files {
  read(path: string): Promise<Buffer | undefined>
  /** For files that may not fit into memory. What does not exist is an error here. */
  stream(path: string): AsyncIterable<Buffer>
  /** Of the thing itself: links are not followed. */
  stat(path: string): Promise<FileStat | undefined>
  /** Names, sorted. */
  list(path: string): Promise<readonly string[]>
  readLink(path: string): Promise<string | undefined>
  /** With all folders above it. */
  makeFolder(path: string): Promise<void>
  /** A new file; what is there already is refused. */
  create(path: string, mode: number): Promise<FileWriter>
  /** Goes on writing at the end of a file that is there. Absent where that cannot be: then it is written anew. */
  append?(path: string): Promise<FileWriter>
  link(path: string, target: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** With everything below it; links are removed, not followed. */
  remove(path: string): Promise<void>
  /** Makes names that came or went in the folder durable. */
  syncFolder(path: string): Promise<void>
}
