// One cluster's changed objects as YAML lines, in diff style. Pure; never shows a Secret's value.
import { stringify } from 'yaml'
import type { DesiredObject, RenderedTarget } from '#delivery/desired.ts'
import { refText } from '#delivery/object-ref.ts'
import { withoutSecretValues, type ClusterDifference } from '#sync/difference.ts'
import type { Tone } from '#lib/terminal/paint.ts'
import { unifiedLines } from './unified.ts'

export interface ContentLine {
  readonly tone?: Tone | undefined
  readonly text: string
}

export function contentLines(
  { cluster, changes }: ClusterDifference,
  before: RenderedTarget | undefined,
  after: RenderedTarget | undefined,
): readonly ContentLine[] {
  return changes.flatMap(({ object }) => {
    const [old, now] = textsIn(before, after, object)
    const lines = unifiedLines(old ?? '', now ?? '')
    const place = `${cluster}/${object}`
    return [
      { tone: 'strong', text: `--- ${old === undefined ? '/dev/null' : place}` },
      { tone: 'strong', text: `+++ ${now === undefined ? '/dev/null' : place}` },
      // Only values of a Secret differ.
      ...(lines.length === 0 ? [{ tone: 'dim', text: '(values that are not shown differ)' } as const] : []),
      ...lines.map((text) => ({ tone: toneOf(text), text })),
    ] as const
  })
}

const toneOf = (line: string): Tone | undefined =>
  line.startsWith('+') ? 'good' : line.startsWith('-') ? 'bad' : line.startsWith('@@') ? 'dim' : undefined

function textsIn(
  before: RenderedTarget | undefined,
  after: RenderedTarget | undefined,
  object: string,
): readonly (string | undefined)[] {
  const find = (target: RenderedTarget | undefined): DesiredObject | undefined =>
    target?.objects.find((o) => refText(o.ref) === object)
  return withoutSecretValues(find(before), find(after)).map((shown) =>
    shown === undefined ? undefined : stringify(shown, { sortMapEntries: true, lineWidth: 0 }),
  )
}
