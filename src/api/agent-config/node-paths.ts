// Decides which paths agent.json and monitor files may name on a node.

/** Absolute, and without a part that leads out of the folder in front of it. */
export const isNodePath = (path: string): boolean => path.startsWith('/') && !climbs(path)

export const climbs = (path: string): boolean => path.split('/').includes('..') || path.includes('\0')

/** `folders` end with a slash. */
export const isBelow = (path: string, folders: readonly string[]): boolean =>
  !climbs(path) && folders.some((folder) => path.startsWith(folder) && path.length > folder.length)
