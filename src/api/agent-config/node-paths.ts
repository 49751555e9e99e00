// Decides which paths on a node agent.json and monitor files may name.

/** Absolute, and without a part that climbs out of a folder. */
export const isNodePath = (path: string): boolean => path.startsWith('/') && !climbs(path)

export const climbs = (path: string): boolean => path.split('/').includes('..') || path.includes('\0')

/** `folders` end with a slash. */
export const isBelow = (path: string, folders: readonly string[]): boolean =>
  !climbs(path) && folders.some((folder) => path.startsWith(folder) && path.length > folder.length)
