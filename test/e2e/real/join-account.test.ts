// A host of a cluster that signs no certificates for clients and accepts no bootstrap tokens joins by the printed line, gets token after token, and leaves by
// `kubenode agent leave`: nothing of KubeNode is on it afterwards, and its account was deleted. A systemd machine of Debian on a real control plane.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { AGENTS_NAMESPACE, agentAccountName } from '#api/names.ts'
import { accountType } from '#controllers/approver/accounts/join-accounts.ts'
import { SIGNERLESS, startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { HostMachine, noMachines } from '../agent-host/machine.ts'
import { addDownloaders } from './downloaders.ts'
import { JoinWorld } from './join-world.ts'

const NAME = 'db-1'
const UNIT = 'kubenode-agent'
const TOKEN_FILE = '/var/lib/kubenode/state/identity/agent-token.json'
const RHYTHM = { lifeSeconds: 600, replaceAfterSeconds: 3, askAgainSeconds: 1 }

let why = noMachines() ?? whyNoPrograms()
let world: JoinWorld
let host: HostMachine | undefined

const shell = (line: string) => {
  if (host === undefined) throw new Error('there is no machine')
  return host.runAside('sh', '-c', line)
}
const log = (): string => host?.run('journalctl', '-u', UNIT, '--no-pager', '-n', '40', '-o', 'cat').out ?? ''

beforeAll(async () => {
  if (why !== undefined) return
  host = new HostMachine([])
  if (!addDownloaders(host.root)) {
    why = 'Debian’s packages cannot be fetched'
    return
  }
  await host.boot()
  world = new JoinWorld(await startControlPlane({ flags: SIGNERLESS }), { identity: 'serviceAccount', rhythm: RHYTHM })
  await world.start()
}, 300_000)

afterAll(async () => {
  await host?.remove()
  await world?.stop()
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

const accountOf = async (uid: string) =>
  world.admin.get(accountType, { namespace: AGENTS_NAMESPACE, name: agentAccountName(uid) })

test('the printed line makes a node of it, without any certificate', async () => {
  await world.declare(NAME)
  const { code, out } = await shell(await world.joinCommand(NAME))
  expect([code, out], log()).toEqual([0, expect.stringContaining(`${NAME} has joined`)])
  await world.until('it has an agent', async () => (await world.machine(NAME))?.status?.agent !== undefined)
  const uid = (await world.machine(NAME))?.metadata.uid ?? ''
  expect(await accountOf(uid)).toBeDefined()
  expect((await shell(`stat -c %a ${TOKEN_FILE}; ls /var/lib/kubenode/state/identity/agent.pem`)).out).toMatch(/^600\n/)
  expect((await shell('ls /var/lib/kubenode/state/identity/agent.pem')).code).not.toBe(0)
})

test('its token is replaced while it works', async () => {
  const first = (await shell(`cat ${TOKEN_FILE}`)).out
  await world.until('another token', async () => (await shell(`cat ${TOKEN_FILE}`)).out !== first)
  await world.until('it says so', async () => log().includes('token replaced'))
})

test('a person on the host has the agent leave: nothing is left on it, and its account is gone', async () => {
  const uid = (await world.machine(NAME))?.metadata.uid ?? ''
  const { code, out } = await shell('/opt/kubenode/bin/node /opt/kubenode/agent.mjs leave')
  expect([code, out], log()).toEqual([0, expect.any(String)])
  await world.until(
    () => `nothing of KubeNode on the host: ${log()}`,
    async () =>
      (await shell(`ls -d /var/lib/kubenode /opt/kubenode /etc/systemd/system/${UNIT}.service 2> /dev/null`)).out ===
      '',
  )
  expect((await shell(`systemctl is-active ${UNIT}`)).out.trim()).toBe('inactive')
  expect((await world.machine(NAME))?.status?.agent?.phase).toBe('Left')
  await world.until('its account is gone', async () => (await accountOf(uid)) === undefined)
})
