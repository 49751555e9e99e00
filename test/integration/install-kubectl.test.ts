// The one file of the installation with kubectl: applied in one go, and deleted without a hang, whatever is left of the programs.
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { API_GROUP } from '#api/kind.ts'
import { machine } from '#api/kinds/machine.ts'
import { FINALIZERS } from '#api/names.ts'
import { checkCluster } from '#install/install.ts'
import { lineOf } from '#install/checks/finding.ts'
import { releaseWithoutSettings } from '#install/chosen-values.ts'
import { webhookConfiguration, webhookConfigurationType } from '#defender/webhook/registration.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { everything, startInstallWorld, type InstallWorld } from '#test/support/worlds/install-world.ts'

const FILE = join(import.meta.dirname, '../../deploy/install.yaml')
let world: InstallWorld
beforeEach(async () => void (world = await startInstallWorld()))
afterEach(() => world.stop())

/** Registered by a Defender that is no longer running. */
async function registerWebhook(): Promise<void> {
  const { admin } = world
  const role = await admin.get(coreKind('ClusterRole'), { name: 'kubenode:defender' })
  const owner = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'kubenode:defender' }
  const configuration = webhookConfiguration('https://127.0.0.1:1', 'none', 'token')
  const ownerReferences = [{ ...owner, uid: role?.metadata.uid ?? '' }]
  const metadata = { ...configuration.metadata, ownerReferences }
  await admin.create(webhookConfigurationType, { ...configuration, metadata })
}

test('kubectl delete -f ends, keeps the objects, and leaves no webhook; kubenode uninstall finishes it', async () => {
  const { admin } = world
  const before = await everything(admin)
  const kubectl = new Kubectl(world.server)
  await kubectl.ok('apply -f', [FILE])
  const example = machine.example as unknown as KubeObject
  await admin.create(machine, { ...example, metadata: { name: 'm-1', finalizers: [FINALIZERS.machine] } } as never)
  await registerWebhook()
  const complaint = await kubectl.refused('delete --timeout=50s -f', [FILE])
  expect(complaint).toMatch(/use kubenode uninstall --delete-crds/)
  expect(complaint).not.toMatch(/timed out/)
  expect((await admin.get(machine, { name: 'm-1' }))?.metadata.deletionTimestamp).toBeUndefined()
  expect(await admin.get(webhookConfigurationType, { name: API_GROUP })).toBeUndefined()
  await world.uninstall({ deleteDefinitions: true })
  expect(await everything(admin)).toEqual(before)
})

test('kubenode check judges the programs that kubectl applied, though no settings are stored', async () => {
  const { admin } = world
  const lines = async () => {
    const options = { isInstalled: true, needsSigner: false }
    const findings = await checkCluster(world.context(), releaseWithoutSettings(), options)
    return findings.filter((f) => f.check === 'leaders' || f.check === 'webhook').map(lineOf)
  }
  await new Kubectl(world.server).ok('apply -f', [FILE])
  await world.double.stop()
  expect(await lines()).toEqual([
    expect.stringMatching(/^✗ leaders: KN1430: no program leads for .*defender/) as unknown,
    expect.stringMatching(/^✗ webhook: KN1431: .* has not registered it/) as unknown,
  ])
  await registerWebhook()
  // Nothing answers behind its Service yet, but the registration itself is expected.
  expect((await lines())[1]).toMatch(/^✗ webhook: KN1431: (?!.* has not registered it)/)
  await admin.delete(webhookConfigurationType, { name: API_GROUP })
}, 180_000)
