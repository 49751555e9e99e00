// Parses the arguments of `kubenode get`: KIND, KIND,KIND, KIND NAME…, or KIND/NAME…, as kubectl does. Pure.
import { KubeNodeError } from '#lib/errors.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { kindCalled, kindWords, named } from '../fleet/target.ts'
import { getErrors } from './get-errors.ts'

export interface Wanted {
  readonly type: ResourceType
  /** The user's word for the kind. */
  readonly noun: string
  /** Undefined: all objects of the kind. */
  readonly name: string | undefined
}

export function wantedOf(words: readonly string[]): readonly Wanted[] {
  const [first, ...rest] = words
  if (first === undefined || /^[, ]*$/.test(first))
    throw new KubeNodeError(getErrors.KN1002_noKind({ kinds: kindWords().join(', ') }))
  const [slash] = words.filter((w) => w.includes('/'))
  if (slash !== undefined) {
    const [kind] = words.filter((w) => !w.includes('/'))
    if (kind !== undefined) throw new KubeNodeError(getErrors.KN1002_getForms({ kind, what: slash }))
    return words.map((word) => named([word]))
  }
  const kinds = first.split(',').filter((w) => w !== '')
  return kinds.flatMap((noun): readonly Wanted[] => {
    const type = kindCalled(noun)
    refuseForm(type, noun, rest)
    return rest.length === 0 ? [{ type, noun, name: undefined }] : rest.map((name) => ({ type, noun, name }))
  })
}

/** Flux puts the source type before the name. A source that is really called git is written source/git. */
const FLUX_FORMS: ReadonlySet<string> = new Set(['all', 'bucket', 'chart', 'git', 'helm', 'oci'])

function refuseForm({ kind }: ResourceType, noun: string, [form = '', ...names]: readonly string[]): void {
  if (kind !== 'FleetSource' || !FLUX_FORMS.has(form)) return
  throw new KubeNodeError(getErrors.KN1002_sourceForm({ form, command: `kubenode get ${[noun, ...names].join(' ')}` }))
}
