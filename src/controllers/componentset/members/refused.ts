// Machines that the Defender refused on their own account a moment ago: others go first, and these are said to be skipped.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

const REMEMBERED_MS = 600_000
/** With more the refusals are a matter of the policy: the slice waits instead of asking for one machine after the other. */
const MOST_REFUSED = 20
/** Gates that judge each target separately; a denial by any other gate applies to all targets. */
const OWN_GATES: ReadonlySet<string> = new Set(['Target', 'Protect', 'Rule'])

/** By uid: a machine that was created again under the same name was never judged. */
export function recentlyRefused(
  permits: ReadonlyMap<string, OperationPermit>,
  now: number,
): ReadonlyMap<string, string> {
  const refused = new Map<string, string>()
  for (const { status } of permits.values()) {
    if (!(now - Date.parse(status?.decidedAt ?? '') < REMEMBERED_MS)) continue
    for (const { target, verdict, gate, seen } of status?.verdicts ?? []) {
      if (verdict !== 'Denied' || !OWN_GATES.has(gate)) continue
      refused.set(target, `denied by the Defender: gate ${gate}${seen === undefined ? '' : `: ${seen}`}`)
    }
  }
  return refused.size > MOST_REFUSED ? new Map() : refused
}
