// The policies in force: as declared in git, even if a user has edited or deleted one. A policy whose declaration is unknown blocks everything it
// applies to.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { jsonEqual } from '#lib/json.ts'
import { type CommittedContents, DELETED, type Edit } from '#declared/committed.ts'
import { editSeen, putBackCommand } from '#declared/edited-status.ts'
import { BUILTIN_POLICY } from './builtin-policy.ts'
import type { Caches } from './caches.ts'
import { type CompiledPolicy, brokenPolicy, compilePolicy } from './compile-policy.ts'

interface Remembered {
  readonly edit: Edit | undefined
  readonly isHeld: boolean
  readonly compiled: CompiledPolicy
}

export class PolicyBook {
  readonly #caches: Pick<Caches, 'policies'>
  readonly #contents: CommittedContents
  readonly #compiled = new WeakMap<DefenderPolicy, Remembered>()
  /** By name, while git declares them: the content of a deleted policy. */
  readonly #last = new Map<string, CompiledPolicy>()

  constructor(caches: Pick<Caches, 'policies'>, contents: CommittedContents) {
    this.#caches = caches
    this.#contents = contents
  }

  inForce(now: number): readonly CompiledPolicy[] {
    const found = this.#caches.policies.list().map((policy) => this.#of(policy, now))
    const names = new Set(found.map((p) => p.name))
    const declared = this.#contents.declared('DefenderPolicy')
    for (const name of this.#last.keys()) if (!declared.has(name)) this.#last.delete(name)
    for (const policy of found) if (declared.has(policy.name)) this.#last.set(policy.name, policy)
    const deleted = [...declared.keys()]
      .filter((name) => !names.has(name) && !this.#contents.isDeletionAllowed('DefenderPolicy', name, now))
      .map((name) => this.#last.get(name) ?? deletedPolicy(name))
    return [...found, ...deleted].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The same object until something changes: tallies are cached by it. */
  #of(policy: DefenderPolicy, now: number): CompiledPolicy {
    const { object, edit, isHeld } = this.#contents.view(policy, now)
    const known = this.#compiled.get(object)
    if (known !== undefined && known.isHeld === isHeld && jsonEqual(known.edit, edit)) return known.compiled
    const name = object.metadata.name ?? ''
    const plain = isHeld ? brokenPolicy(name, object.spec, heldWhy(edit)) : compilePolicy(object)
    const compiled = edit === undefined ? plain : { ...plain, edit }
    this.#compiled.set(object, { edit, isHeld, compiled })
    return compiled
  }
}

const heldWhy = (edit: Edit | undefined): string =>
  edit === undefined ? 'sync has not recorded this content yet' : `${editSeen(edit)}; ${putBackCommand(edit)}`

function deletedPolicy(name: string): CompiledPolicy {
  const why = `the policy is declared in git but was deleted in the cluster; sync restores it, or a hold AllowEdit to ${DELETED} lifts this`
  return brokenPolicy(name, BUILTIN_POLICY, why)
}
