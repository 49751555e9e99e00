// Templates, custom columns and sorting by a field are kubectl's job: the answer is the kubectl command line. Pure.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { type ResourceType, qualifiedPlural } from '#api/schema/resource.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shellWord } from '#lib/shell-word.ts'
import type { GetOptions } from './asked.ts'
import { getErrors } from './get-errors.ts'
import type { Wanted } from './wanted.ts'

export function refuseForKubectl(wanted: readonly Wanted[], options: GetOptions): void {
  const { output, sortBy } = options
  const option =
    output?.kind === 'kubectl' ? `-o ${output.text}` : sortBy === undefined ? undefined : `--sort-by ${sortBy}`
  if (option !== undefined)
    throw new KubeNodeError(getErrors.KN1002_kubectlOption({ option, command: kubectlLine(wanted, options) }))
}

/** The same objects, with the options that kubectl shares. */
function kubectlLine(wanted: readonly Wanted[], options: GetOptions): string {
  const names = wanted.flatMap((w) => w.name ?? [])
  const kinds = [...new Set(wanted.map(({ type }) => kubectlKind(type)))]
  const what = kinds.length > 1 && names.length > 0 ? wanted.map((w) => `${kubectlKind(w.type)}/${w.name}`) : names
  const objects = what === names ? [kinds.join(','), ...names] : what
  return ['kubectl', 'get', ...[...objects, ...optionsOf(wanted, options)].map(shellWord)].join(' ')
}

/** Qualified, because other projects have machines too. */
const kubectlKind = (type: ResourceType): string => (type.group === '' ? type.plural : qualifiedPlural(type))

function optionsOf(wanted: readonly Wanted[], options: GetOptions): readonly string[] {
  const { allNamespaces, context, fieldSelector, headers, ignoreNotFound, kubeconfig, output, selector, sortBy } =
    options
  const isNamespaced = allNamespaces !== true && wanted.some(({ type }) => type.namespaced)
  // kubectl would search the namespace default.
  const namespace = options.namespace ?? (isNamespaced ? SYSTEM_NAMESPACE : undefined)
  const value = (flag: string, text: string | undefined) => (text === undefined ? [] : [flag, text])
  const set = (flag: string, isSet: boolean | undefined) => (isSet === true ? [flag] : [])
  return [
    ...value('--kubeconfig', kubeconfig),
    ...value('--context', context),
    ...value('-n', namespace),
    ...set('-A', allNamespaces),
    ...value('-l', selector),
    ...value('--field-selector', fieldSelector),
    ...value('--sort-by', sortBy),
    ...set('--ignore-not-found', ignoreNotFound),
    ...set('--no-headers', !headers),
    ...set('-w', options.watch),
    ...set('--watch-only', options.watchOnly),
    ...value('-o', formText(output)),
  ]
}

function formText(form: GetOptions['output']): string | undefined {
  if (form === undefined) return undefined
  if (form.kind === 'table') return form.isWide ? 'wide' : undefined
  if (form.kind !== 'kubectl') return form.kind
  return form.text.includes('=') ? form.text : `${form.text}=TEMPLATE`
}
