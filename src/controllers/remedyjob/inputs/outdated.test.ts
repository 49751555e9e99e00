import { repairSpec } from '#test/support/fleets/repair-jobs.ts'
import { expect, test } from 'vitest'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import { outdatedBy } from './outdated.ts'

type Operations = RemedyOperationJob['spec']['operations']
const REBOOT: Operations = [{ cordon: {} }, { reboot: { timeout: '10m' } }]
const [RUNG] = nodeRemedier.example.spec.ladder

const rule = (generation: number, mode: 'Enforce' | 'DryRun' | 'Shadow', operations: Operations = REBOOT) =>
  ({
    name: 'r',
    generation,
    spec: { ...nodeRemedier.example.spec, mode, ladder: [{ ...RUNG, operations }] },
  }) as unknown as ActiveRule

const EVIDENCE: Operations[number] = { collectEvidence: { kinds: ['Journal'] } }
const ACCEPTED: Operations = [
  EVIDENCE,
  { cordon: {} },
  { reboot: { timeout: '10m' } },
  { runPod: { template: 'burn-in' } },
]

test.each([
  ['the rule as it was', repairSpec(REBOOT), rule(1, 'Enforce'), undefined],
  ['limits that were edited', repairSpec(REBOOT), rule(2, 'Enforce'), undefined],
  ['what every job gets', repairSpec(ACCEPTED, { acceptance: 3 }), rule(2, 'Enforce'), undefined],
  ['no rule', repairSpec(REBOOT), undefined, undefined],
  ['a dry run', repairSpec(REBOOT, { dryRun: true }), rule(2, 'DryRun'), undefined],
  ['a rule that only reports now', repairSpec(REBOOT), rule(2, 'Shadow'), 'rule r is in mode Shadow now'],
  [
    'an operation that the rung lost',
    repairSpec([{ cordon: {} }, { replace: {} }]),
    rule(2, 'Enforce'),
    'rule r was edited: rung 0 has other operations now',
  ],
  [
    'a rung that is gone',
    repairSpec(REBOOT, { rung: 1 }),
    rule(2, 'Enforce'),
    'rule r was edited: rung 1 has other operations now',
  ],
] as const)('%s', (_, spec, active, expected) => expect(outdatedBy({ spec }, active)).toBe(expected))
