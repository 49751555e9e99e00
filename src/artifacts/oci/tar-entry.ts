// A layer's content: files, folders and symbolic links, by path from the image's root.

interface Place {
  /** Without a leading or trailing slash. */
  readonly path: string
}

export interface TarFile extends Place {
  readonly kind: 'File'
  /** Permission bits, independent of the build machine. */
  readonly mode: number
  /** Read when the file is written, so only one large file is in memory at a time. */
  readonly content: () => Buffer
}

interface TarFolder extends Place {
  readonly kind: 'Folder'
  readonly mode: number
}

interface TarLink extends Place {
  readonly kind: 'Link'
  readonly target: string
}

export type TarEntry = TarFile | TarFolder | TarLink

export const FILE_MODE = 0o644
export const PROGRAM_MODE = 0o755
export const FOLDER_MODE = 0o755

export const textFile = (path: string, text: string, mode = FILE_MODE): TarFile => ({
  kind: 'File',
  path,
  mode,
  content: () => Buffer.from(text),
})
