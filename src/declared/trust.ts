// Components that agents will certainly refuse, by the trust document next to them. Ignores time: an expiring document may be renewed.
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import { judgeStatement } from '#api/trust/statement.ts'
import type { TrustDocument } from '#api/trust/trust-document.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, doubtful, isComponent } from './problem.ts'

/** Types that agents verify before installing; the cluster verifies workloads. */
const INSTALLED: ReadonlySet<string> = new Set(['Package', 'Script'])

/** All hex digits equal: a placeholder until the digest is known. */
const PLACEHOLDER = /^([0-9a-f])\1{63}$/

export function trustProblems(objects: readonly KubeObject[], trust: TrustDocument): readonly DeclaredProblem[] {
  return objects
    .filter(isComponent)
    .filter((c) => INSTALLED.has(c.spec.type))
    .flatMap((c) => problemsOf(c, trust))
}

function problemsOf(object: MachineComponent, trust: TrustDocument): readonly DeclaredProblem[] {
  const { spec } = object
  const { component, version } = spec
  // The file that declares the version, not one that only uses it.
  const declaring = [version, component, 'artifacts', 'MachineComponent']
  const placeholders = (spec.artifacts ?? []).flatMap(({ sha256 }, i) =>
    PLACEHOLDER.test(sha256)
      ? [
          certain(
            { object, pointer: `/spec/artifacts/${i}/sha256`, words: [sha256, ...declaring] },
            declaredErrors.KN1108_placeholder({ component, version, digest: `${sha256.slice(0, 12)}…` }),
          ),
        ]
      : [],
  )
  // Signing has to wait for the digest.
  if (placeholders.length > 0) return placeholders
  const verdict = judgeStatement(spec, trust, Number.NEGATIVE_INFINITY)
  if (verdict.kind === 'Trusted') return []
  const at = { object, pointer: '/spec/signatures', words: declaring }
  const message = declaredErrors.KN1108_agents({ component, version, why: verdict.reason })
  // A version that is revoked, or below the floor, may stay declared until nothing needs it.
  return [verdict.reason.startsWith('signed by') ? certain(at, message) : doubtful(at, message)]
}
