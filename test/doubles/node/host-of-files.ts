// A host for tests: its small files, by path.
import type { HostFiles } from '#agent/metrics/host-files.ts'

export function hostOf(files: Readonly<Record<string, string>>): HostFiles {
  return {
    read: (path) => files[path],
    list: (folder) =>
      [
        ...new Set(
          Object.keys(files)
            .filter((path) => path.startsWith(`${folder}/`))
            .map((path) => path.slice(folder.length + 1).split('/')[0] ?? ''),
        ),
      ].toSorted(),
  }
}
