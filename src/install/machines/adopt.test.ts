// What `kubenode adopt` shows of an agent's report, and when it writes the consent.
import { describe, expect, test } from 'vitest'
import { KINDS } from '#api/kinds.ts'
import { machine as machineType, type Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { nodeType } from '#nodes/objects.ts'
import { adopt } from './adopt.ts'

const KUBELET = {
  name: 'kubelet',
  desired: '1.36.2',
  state: 'Staged',
  since: '2026-01-05T00:00:00Z',
  attempt: 1,
  adoption: {
    equal: ['/usr/bin/kubelet'],
    differs: ['/var/lib/kubelet/config.yaml (other content)'],
    kept: ['/usr/bin/kubelet', '/var/lib/kubelet/config.yaml', 'kubelet.service (active, enabled)'],
    replaced: ['/var/lib/kubelet/config.yaml'],
    stays: ['/etc/systemd/system/kubelet.service.d/10-kubeadm.conf'],
    alsoStarted: ['old.service (starts /usr/bin/kubelet)'],
    restarts: true,
  },
}

function world(spec: object, metadata: object = {}, agent: object = { version: '0.1.0' }) {
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock: new VirtualClock(), random: seededRandom(1), kinds })
  const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: 'm-1', ...metadata }, spec }
  fake.plant(machineType, object)
  const status = { nodeRef: { name: 'db-1', uid: 'u' }, agent, components: [KUBELET] }
  fake.poke(machineType, { name: 'm-1' }, { status }, 'status')
  const lines: string[] = []
  const io = { out: (text: string) => void lines.push(text), err: (text: string) => void lines.push(text) }
  const client = fake.client({ actor: 'person' })
  const now = () => (fake.peek(machineType, { name: 'm-1' }) as Machine | undefined)?.spec.adoption
  return { fake, lines, now, run: (dryRun: boolean, name = 'db-1') => adopt({ client, name, dryRun }, io) }
}

describe('kubenode adopt', () => {
  test('shows what equals, differs, is kept, replaced and restarted, and a dry run changes nothing', async () => {
    const { run, lines, now } = world({ channel: 'Agent', adoption: 'Preview' })
    await run(true)
    expect(lines.join('')).toBe(`machine/m-1: adoption Preview
COMPONENT   PATH                                                    NOW             ADOPTED
kubelet     /usr/bin/kubelet                                        equal           original kept, content unchanged
kubelet     /var/lib/kubelet/config.yaml                            other content   original kept, then replaced
kubelet     kubelet.service (active, enabled)                       unit            state kept
kubelet     /etc/systemd/system/kubelet.service.d/10-kubeadm.conf   drop-in         stays in force
kubelet     old.service (starts /usr/bin/kubelet)                   same program    runs beside it: stop and disable it first
kubelet: restarts in an ordinary switch
`)
    expect(now()).toBe('Preview')
  })

  test('writes the consent, or prints it for git where the Machine is declared', async () => {
    const mine = world({ channel: 'Agent', adoption: 'Preview' })
    await mine.run(false)
    expect(mine.now()).toBe('Adopt')
    const declared = world({ channel: 'Agent' }, { annotations: { [ANNOTATIONS.commit]: 'c0ffee' } })
    await declared.run(false)
    expect([declared.now(), declared.lines.join('')]).toEqual([undefined, expect.stringContaining('adoption: Adopt')])
  })

  test.each([
    [{ channel: 'Observe' }, { version: '0.1.0' }, /its channel is Observe/],
    [{ channel: 'Agent' }, { version: '0.1.0', phase: 'Left' }, /it has no agent/],
  ])('says what is missing (%o)', async (spec, agent, message) => {
    await expect(world(spec, {}, agent).run(true)).rejects.toThrow(message)
  })

  test('of a Node that nothing observes yet names the import, and a Machine on its way out is named as such', async () => {
    const { fake, run } = world({ channel: 'Agent' })
    fake.plant(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'db-2' } })
    await expect(run(true, 'db-2')).rejects.toThrow(/KN1377: .*run: kubenode import db-2/)
    await expect(run(true, 'db-3')).rejects.toThrow(/KN1313/)
    const going = world({ channel: 'Agent' }, { finalizers: ['a/b'] })
    await going.fake.client({ actor: 'person' }).delete(machineType, { name: 'm-1' })
    await expect(going.run(false)).rejects.toThrow(/it is being deleted/)
  })
})
