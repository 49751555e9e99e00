// An unknown PodTemplate is reported wherever a node is accepted by it, if the fleet declares such templates at all.
import { machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { expect, test } from 'vitest'
import { declaredProblems } from './declared-problems.ts'

const template = (name: string, namespace = 'kubenode-acceptance') => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name, namespace },
})
const pod = { template: 'burn-inn' }

const machineWith = { ...machine.example, spec: { ...machine.example.spec, acceptance: { pod } } }
const setWith = {
  ...machineSet.example,
  spec: {
    ...machineSet.example.spec,
    template: {
      ...machineSet.example.spec.template,
      spec: { ...machineSet.example.spec.template.spec, acceptance: { pod } },
    },
  },
}
const ruleWith = {
  ...nodeRemedier.example,
  spec: { ...nodeRemedier.example.spec, ladder: [{ operations: [{ cordon: {} }, { runPod: pod }], verify: { pod } }] },
}

const said = (...objects: readonly object[]) =>
  declaredProblems(objects as never)
    .filter(({ code }) => code === 'KN3079')
    .map(({ object, pointer, isCertain }) => `${isCertain ? '' : 'perhaps '}${object.kind}${pointer}`)

test('an unknown template is reported at each place that names it', () => {
  expect(said(template('burn-in'), machineWith, setWith, ruleWith)).toEqual([
    'perhaps Machine/spec/acceptance/pod/template',
    'perhaps MachineSet/spec/template/spec/acceptance/pod/template',
    'perhaps NodeRemedier/spec/ladder/0/operations/1/runPod/template',
    'perhaps NodeRemedier/spec/ladder/0/verify/pod/template',
  ])
})

test('a fleet without such templates gets them from elsewhere, and a declared one is fine', () => {
  expect(said(machineWith, template('burn-inn', 'shop'))).toEqual([])
  expect(said(machineWith, template('burn-inn'))).toEqual([])
})
