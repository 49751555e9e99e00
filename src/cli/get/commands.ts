// `kubenode get`: lists and shows KubeNode objects with the words and options of kubectl, and never changes one.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { shellWord } from '#lib/shell-word.ts'
import { connectionTo, withNamespace, withServer } from '../commands/inspect.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { Asked, GetOptions } from './asked.ts'
import { TABLE, formOption } from './form.ts'
import { getErrors } from './get-errors.ts'
import { refuseForKubectl } from './left-to-kubectl.ts'
import type { Wanted } from './wanted.ts'

export function register(program: Command, io: Io): void {
  withNamespace(withServer(program.command('get')))
    .description('list, show or watch KubeNode objects')
    .argument('[what...]', 'KIND, KIND,KIND, KIND NAME… or KIND/NAME…, by plural, singular or short name')
    .addOption(formOption())
    .option('-A, --all-namespaces', 'the objects of all namespaces')
    .option('-l, --selector <labels>', 'filter by labels, such as zone=a,!old')
    .option('--field-selector <fields>', 'filter by fields, such as metadata.name=n-1')
    .addOption(new Option('--sort-by <path>', 'in the order of a field, which kubectl does').hideHelp())
    .option('-w, --watch', 'then show each change, until Ctrl-C')
    .option('--watch-only', 'show each change and not the list before, until Ctrl-C')
    .option('--ignore-not-found', 'print nothing for a name that does not exist, and exit with 0')
    .option('--no-headers', 'leave the first line of a table out')
    .option('--show-kind', 'show the kind before each name of a table')
    .option('--show-labels', 'show labels in the last column of a table')
    .addOption(
      new Option(
        '-L, --label-columns <labels>',
        'show these labels in columns of their own, such as zone,pool',
      ).argParser((text: string, before?: readonly string[]) => [...(before ?? []), ...labelNames(text)]),
    )
    .option('--show-managed-fields', 'with json and yaml, show who wrote which field')
    .action((words: string[], options: GetOptions) => get(words, options, io))
}

function labelNames(text: string): readonly string[] {
  const names = text.split(',').map((word) => word.trim())
  if (names.some((name) => !/^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$/.test(name)))
    throw new InvalidArgumentError('Write names of labels, separated by commas.')
  return names
}

export async function get(words: readonly string[], options: GetOptions, io: Io): Promise<void> {
  const [{ wantedOf }, { shownNamespace }] = await Promise.all([
    import('./wanted.ts'),
    import('../inspect/find-object.ts'),
  ])
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
  const [{ showTables, showData }, { reportMissed }] = await Promise.all([
    import('./show.ts'),
    import('../inspect/missed.ts'),
  ])
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
    throw new KubeNodeError(getErrors.KN1602({ one, other }))
  }
  const isNamed = wanted.some((w) => w.name !== undefined)
  const isTabular = options.output === undefined || options.output.kind === 'table'
  if (!isTabular && options.labelColumns !== undefined) refuse('--label-columns', 'this --output')
  if (isNamed && options.selector !== undefined) refuse('a name', '--selector')
  if (isNamed && options.fieldSelector !== undefined) refuse('a name', '--field-selector')
  if (isNamed && options.allNamespaces === true) refuse('a name', '--all-namespaces')
  if (isWatched(options) && wanted.length > 1) refuse('--watch', 'several kinds or names')
}

/** It is read while the table is. */
async function noteFor(wanted: readonly Wanted[], { client }: Asked): Promise<string | undefined> {
  const { isNoted, attentionNote } = await import('./attention-note.ts')
  return isNoted(wanted) ? attentionNote(wanted, client) : undefined
}
