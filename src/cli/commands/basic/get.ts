// `kubenode get`: lists and shows KubeNode objects with kubectl's words and options. Never changes one.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { withNamespace, withServer } from '../../fleet/connect.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { GetOptions } from '../../get/asked.ts'
import { formOption } from '../../get/form.ts'

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
    .action(async (words: string[], options: GetOptions) => (await import('../../get/get.ts')).get(words, options, io))
}

function labelNames(text: string): readonly string[] {
  const names = text.split(',').map((word) => word.trim())
  if (names.some((name) => !/^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$/.test(name)))
    throw new InvalidArgumentError('Write names of labels, separated by commas.')
  return names
}
