// The notes of a release: its section of the changelog. Pure.

export interface Notes {
  readonly text: string
  /** As in `## 0.1.0 (2026-11-27)`; what was not released has no date. */
  readonly date: string | undefined
}

/** Undefined where the changelog does not know the version. */
export function notesOf(changelog: string, version: string): Notes | undefined {
  const section = changelog.split(/^## /m).find((text) => text.split(/\s/, 1)[0] === version)
  if (section === undefined) return undefined
  const [head = '', ...lines] = section.trimEnd().split('\n')
  const date = /\((\d{4}-\d\d-\d\d)\)$/.exec(head)?.[1]
  return { text: `# KubeNode ${head}\n${lines.join('\n')}\n`, date }
}
