// Runs one `kubenode get`: prints the objects as a table or as data and, with -w, each change.
import { shownNamespace } from '#explain/objects/find-object.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { Io } from '#lib/terminal/io.ts'
import { connectionTo } from '../fleet/connect.ts'
import { reportMissed } from '../fleet/missed.ts'
import type { Asked, GetOptions } from './asked.ts'
import { TABLE } from './form.ts'
import { getErrors } from './get-errors.ts'
import { refuseForKubectl } from './left-to-kubectl.ts'
import { showData, showTables } from './show.ts'
import { type Wanted, wantedOf } from './wanted.ts'

export async function get(words: readonly string[], options: GetOptions, io: Io): Promise<void> {
  const wanted = wantedOf(words)
  refuseTogether(wanted, options)
  refuseForKubectl(wanted, options)
  const { client, namespace } = await connectionTo(options, io)
  const asked: Asked = {
    client,
    namespace: options.allNamespaces === true ? undefined : shownNamespace(options.namespace, namespace),
    options,
    form: options.output ?? TABLE,
    io,
    missed: [],
  }
  const isTabular = asked.form.kind === 'table'
  const [only] = isWatched(options) ? wanted : []
  const start = only && (await (await import('./watch.ts')).watchStart(only, asked))
  const note = isTabular && io.isTerminal && only === undefined ? noteFor(wanted, asked) : undefined
  if (options.watchOnly !== true) await (isTabular ? showTables(wanted, asked) : showData(wanted, asked))
  const line = await note
  if (line !== undefined)
    io.err(shownLine(options.context === undefined ? line : `${line} --context ${shellWord(options.context)}`))
  reportMissed(asked.missed, io)
  if (only !== undefined) await (await import('./watch.ts')).watchObjects(only, asked, start)
}

const isWatched = ({ watch, watchOnly }: GetOptions): boolean => watch === true || watchOnly === true

function refuseTogether(wanted: readonly Wanted[], options: GetOptions): void {
  const refuse = (one: string, other: string): never => {
    throw new KubeNodeError(getErrors.KN1002_combined({ one, other }))
  }
  const isNamed = wanted.some((w) => w.name !== undefined)
  const isTabular = options.output === undefined || options.output.kind === 'table'
  if (!isTabular && options.labelColumns !== undefined) refuse('--label-columns', 'this --output')
  if (isNamed && options.selector !== undefined) refuse('a name', '--selector')
  if (isNamed && options.fieldSelector !== undefined) refuse('a name', '--field-selector')
  if (isNamed && options.allNamespaces === true) refuse('a name', '--all-namespaces')
  if (isWatched(options) && wanted.length > 1) refuse('--watch', 'several kinds or names')
}

/** Read in parallel with the table. */
async function noteFor(wanted: readonly Wanted[], { client }: Asked): Promise<string | undefined> {
  const { isNoted, attentionNote } = await import('./attention-note.ts')
  return isNoted(wanted) ? attentionNote(wanted, client) : undefined
}
