// Ladders that compile and still do harm: drains limited to a device.
import { expect, test } from 'vitest'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { harmIn } from './ladder-harm.ts'

type Operations = NodeRemedier['spec']['ladder'][number]['operations']

function harm(type: string, ...operations: readonly object[]): readonly string[] {
  const when = { all: [{ fact: 'conditions', path: `/${type}/status`, operator: 'equal', value: 'True' }] }
  const compiled = compileRule('r', when, nodeVocabulary())
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  const ladder = [{ operations: operations as Operations, verify: { stableFor: '5m' } }]
  return harmIn(compiled.rule.root, { ladder } as unknown as NodeRemedier['spec'])
}

const evidence = { collectEvidence: { kinds: ['Devices'] } }
const users = { drain: { usersOf: 'Device' } }
const script = { runScript: { component: 's', version: '1' } }

test.each([
  ['as it should be', 'GPUNeedsReset', [{ cordon: {} }, evidence, users, script], []],
  [
    'with the rest drained before a reboot',
    'GPUFaulty',
    [{ cordon: {} }, evidence, users, { drain: {} }, { reboot: {} }],
    [],
  ],
  [
    'for a fault that names no device',
    'KernelDeadlock',
    [{ cordon: {} }, evidence, users],
    [/reads none of GPUNeedsReset/],
  ],
  ['without evidence', 'GPUFaulty', [{ cordon: {} }, users], [/without evidence of the kind Devices after the cordon/]],
  [
    'with evidence before the cordon',
    'GPUFaulty',
    [evidence, { cordon: {} }, users],
    [/without evidence of the kind Devices/],
  ],
  ['without a cordon', 'GPUFaulty', [evidence, users], [/drains a node that is not cordoned/]],
  [
    'and then a reboot',
    'GPUFaulty',
    [{ cordon: {} }, evidence, users, { reboot: {} }],
    [/its reboot ends the other pods/],
  ],
  [
    'and then a new machine',
    'GPUFaulty',
    [{ cordon: {} }, evidence, users, { replace: {} }],
    [/its replace ends the other pods/],
  ],
] as const)('a drain of the users of a device %s', (_, type, operations, expected) => {
  expect(harm(type, ...operations)).toEqual(expected.map((text) => expect.stringMatching(text)))
})
