import { expect, test } from 'vitest'
import { DISRUPTIONS } from '../kinds/operation-permit.ts'
import { OPERATIONS, type OperationName } from '../kinds/operations.ts'
import {
  OPERATION_FACTS,
  disruptionFacts,
  factsOf,
  isCentral,
  isOfAgent,
  operationName,
  takesAvailability,
} from './operations.ts'

/** Properties from before there was one shared table: executor, disruptions, whether its executor repeats it after an unknown result, evidence, host. */
const BEFORE: Readonly<Record<string, readonly unknown[]>> = {
  collectEvidence: ['Agent', [], true, 'Keeps', false],
  cordon: ['Controller', ['Cordon'], true, 'Leaves', false],
  isolateDevice: ['Controller', ['Cordon'], true, 'Leaves', false],
  restartComponent: ['Agent', ['RestartComponent'], false, 'Leaves', false],
  reinstallComponent: ['Agent', ['ReinstallComponent'], false, 'Leaves', false],
  cleanDisk: ['Agent', ['CleanDisk'], true, 'Leaves', false],
  runScript: ['Agent', ['RunScript'], false, 'Leaves', false],
  runPod: ['Controller', ['RunScript'], true, 'Leaves', false],
  drain: ['Controller', ['Drain'], true, 'Leaves', false],
  rescue: ['Controller', ['RestartAgent'], true, 'Leaves', true],
  rescueReboot: ['Controller', ['Reboot'], true, 'Destroys', true],
  reboot: ['Agent', ['Reboot'], false, 'Destroys', true],
  fence: ['Controller', ['Fence'], true, 'Destroys', true],
  replace: ['Controller', ['Replace', 'ScaleIn'], true, 'Destroys', true],
  uncordon: ['Controller', [], true, 'Leaves', false],
  webhook: ['Controller', [], false, 'Leaves', false],
  reportFault: ['Controller', [], false, 'Leaves', true],
}

test('each operation is done as it was when five tables said it', () => {
  expect(
    Object.fromEntries(
      OPERATIONS.map((name) => {
        const { executor, disruptions, isSafeToRepeat, evidence, needsHost } = factsOf(name)
        return [name, [executor, disruptions, isSafeToRepeat, evidence, needsHost]]
      }),
    ),
  ).toEqual(BEFORE)
  const those = (is: (name: OperationName) => boolean) => OPERATIONS.filter(is)
  expect(those((n) => factsOf(n).takesNode)).toEqual(['replace'])
  expect(those((n) => factsOf(n).givesBack)).toEqual(['uncordon'])
  expect(those((n) => factsOf(n).byProviderIfSilent)).toEqual(['reboot'])
})

test('every operation has an executor, in the order of the schema', () => {
  expect(OPERATIONS).toEqual(Object.keys(BEFORE))
  expect(OPERATIONS.filter((n) => !isOfAgent(n) && !isCentral(n))).toEqual([])
})

test('an operation that the table does not have does not compile', () => {
  type Forgotten = Record<OperationName | 'newOperation', unknown>
  // @ts-expect-error: newOperation has no row
  const forgotten: Forgotten = OPERATION_FACTS
  expect(forgotten).not.toHaveProperty('newOperation')
})

test('each disruption is as risky, and reaches as far, as before', () => {
  const those = (is: (name: string) => boolean) => DISRUPTIONS.filter(is)
  expect(those((d) => disruptionFacts(d).risk === 'Low')).toEqual([
    'NoDisruption',
    'RestartComponent',
    'RestartAgent',
    'CleanDisk',
    'Cordon',
  ])
  expect(those((d) => !takesAvailability([d]))).toEqual(['NoDisruption', 'RestartAgent', 'CleanDisk'])
  expect(those((d) => disruptionFacts(d).risk === 'High')).toEqual([
    'Fence',
    'Replace',
    'ScaleIn',
    'ChangeControlPlane',
    'DeleteControlPlane',
    'MassPrune',
  ])
  expect(those((d) => disruptionFacts(d).isFromOutside)).toEqual([
    'RestartAgent',
    'Cordon',
    'Drain',
    'Reboot',
    'Fence',
    'Replace',
    'ScaleIn',
  ])
  expect(those((d) => disruptionFacts(d).deletesTarget)).toEqual(['Replace', 'ScaleIn', 'MassPrune'])
})

test.each(['Nonsense', 'constructor', ''])(
  'an unknown disruption %j is the riskiest and opens no way around',
  (name) => {
    expect(disruptionFacts(name)).toEqual({
      risk: 'High',
      isFromOutside: false,
      deletesTarget: false,
      takesAvailability: true,
    })
  },
)

test('an object that sets none of the known operations has no name', () => {
  expect(operationName({})).toBeUndefined()
})
