// A file system that the agent finds read-only although it was writable before, or must be: the same repair as for what the kernel's log says.
import { readOnlyFilesystem } from './read-only-filesystem.ts'

export const filesystemReadOnly = readOnlyFilesystem('FilesystemReadOnly')
