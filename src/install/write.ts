// Writes one object of a release by server-side apply. Takes over fields of users and earlier installers, but not those of other tools.
import { FIELD_MANAGERS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { ApplyOutcome, FieldConflict } from '#kube/apply.ts'
import { answerOf } from '#kube/errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import { type Writer, writeObject } from '#delivery/write.ts'
import type { InstallContext } from './context.ts'
import { installErrors } from './install-errors.ts'
import { someOf } from '#lib/some-of.ts'

/** `kubectl apply -f install.yaml`, manual edits, and releases before the field manager had its own name. */
const isPerson = (manager: string): boolean =>
  manager === FIELD_MANAGERS.cli ||
  manager === FIELD_MANAGERS.install ||
  manager === 'before-first-apply' ||
  /^kubectl(-|$)/.test(manager)

/** A lost reply or a restarting server reveals nothing about the object; simply repeat the apply. */
const ATTEMPTS = 5
const PAUSE_MS = 1_000

export interface WriteOptions {
  readonly dryRun?: boolean
}

export async function writeReleased(
  context: InstallContext,
  object: KubeObject,
  { dryRun = false }: WriteOptions = {},
): Promise<KubeObject> {
  const { client, types, clock, signal } = context
  const type = await types.of(object.apiVersion, object.kind, signal)
  const writer: Writer = {
    client,
    takes: mayTake,
    fieldManager: FIELD_MANAGERS.install,
    fieldValidation: 'Strict',
    ...(dryRun && { dryRun }),
    ...defined({ signal }),
  } as const
  for (let attempt = 1; ; attempt++) {
    const outcome = await writeObject(writer, type, object)
    if (outcome.kind === 'Applied') return outcome.object
    if (outcome.kind !== 'Unknown' || attempt === ATTEMPTS) throw refusal(object, outcome)
    await clock.sleep(PAUSE_MS, signal)
  }
}

/** Without owners the conflict is about versions, and a second attempt resolves it. */
const mayTake = (conflicts: readonly FieldConflict[]): boolean => conflicts.every((c) => isPerson(c.manager))

function refusal(
  object: KubeObject,
  outcome: Exclude<ApplyOutcome<KubeObject>, { readonly kind: 'Applied' }>,
): KubeNodeError {
  const text = refText(refOf(object))
  if (outcome.kind === 'Conflict' && outcome.conflicts.length > 0) {
    const others = outcome.conflicts.filter((c) => !isPerson(c.manager))
    const managers = others.map((c) => c.manager).join(', ')
    return new KubeNodeError(installErrors.KN1419({ object: text, managers, fields: fieldsOf(others) }))
  }
  const why = answerOf(outcome.error)
  if (FIXED_FOREVER.test(why))
    return new KubeNodeError(installErrors.KN1438({ object: text, why, command: deletionOf(object) }), {
      cause: outcome.error,
    })
  return new KubeNodeError(installErrors.KN1420({ object: text, why }), { cause: outcome.error })
}

/** Server messages about immutable fields: selectors of Deployments, addresses of Services, roles of bindings, types of Secrets. */
const FIXED_FOREVER = /field is immutable|may not change once set|cannot change roleRef|updates to .* are forbidden/

function deletionOf({ apiVersion, kind, metadata: { name = '', namespace } }: KubeObject): string {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : []
  const what = group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`
  return `kubectl delete ${what} ${name}${namespace === undefined ? '' : ` -n ${namespace}`}`
}

const MOST_FIELDS = 5
function fieldsOf(conflicts: readonly FieldConflict[]): string {
  return someOf(
    conflicts.flatMap((c) => c.fields),
    MOST_FIELDS,
  )
}
