// A host without any file of KubeNode becomes a node by the line that `kubenode machine join-command` prints: pasted into a shell, run by cloud-init, or with files
// that were carried there. A systemd machine of Debian; on the embedded server, and on a real control plane where there is one, whose controller manager
// signs the certificate.
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse } from 'yaml'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { coreKind } from '#kube/core-kinds.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { nodeType } from '#nodes/objects.ts'
import { startEmbedded } from '#test/support/servers/api-servers.ts'
import { startControlPlane } from '#test/support/servers/real/control-plane.ts'
import { whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { isFull, ONLY_IN_FULL } from '#test/support/tools/full.ts'
import { HostMachine, noMachines } from '../agent-host/machine.ts'
import { addDownloaders, removeProgram } from './downloaders.ts'
import { JoinWorld } from './join-world.ts'

const UNIT = 'kubenode-agent'
const DOCUMENTED = 'db-1'
const page = readFileSync(join(import.meta.dirname, '../../../docs/tasks/first-node.md'), 'utf8')
const [, printedYaml = ''] = /```yaml\n(apiVersion: kubenode[^`]*)```/.exec(page) ?? []
const [, printedCommand = ''] = /```sh\n(kubenode machine join-command [^\n]*)\n```/.exec(page) ?? []
/** As the issue demands of an archive with its Node.js. */
const MOST_BYTES = 60 * 1024 * 1024

const whyNot = noMachines()

describe.each([
  ['the embedded server', isFull ? undefined : ONLY_IN_FULL, startEmbedded],
  ['a real control plane', whyNoPrograms(), () => startControlPlane()],
] as const)('on %s', (_, whyNoServer, startServer) => {
  let why = whyNot ?? whyNoServer
  let world: JoinWorld
  let host: HostMachine | undefined

  const machine = (): HostMachine => {
    if (host === undefined) throw new Error('there is no machine')
    return host
  }
  const shell = (line: string) => machine().runAside('sh', '-c', line)
  const log = (): string => machine().run('journalctl', '-u', UNIT, '--no-pager', '-n', '40', '-o', 'cat').out

  beforeAll(async () => {
    if (why !== undefined) return
    host = new HostMachine([])
    if (!addDownloaders(host.root)) {
      why = 'Debian’s packages cannot be fetched'
      return
    }
    await host.boot()
    world = new JoinWorld(await startServer())
    await world.start()
  }, 300_000)

  afterAll(async () => {
    await host?.remove()
    await world?.stop()
  })

  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })

  /** The next case must find a bare host. */
  const bare = () =>
    shell(
      `systemctl disable --now ${UNIT}; rm -rf /var/lib/kubenode /opt/kubenode /srv/kubenode /etc/systemd/system/${UNIT}.service`,
    )

  const joined = async (name: string) => {
    await world.until(`${name} has an agent`, async () => (await world.machine(name))?.status?.agent !== undefined)
    expect((await shell(`systemctl is-active ${UNIT}; systemctl is-enabled ${UNIT}`)).out).toBe('active\nenabled\n')
  }

  test('the archive with its Node.js is small enough to download', () => {
    const [archive] = world.files
    expect(archive?.bytes).toBeLessThan(MOST_BYTES)
  })

  test('the Machine and the command of docs/tasks/first-node.md, and the line as it is printed, make a node of it', async () => {
    await world.admin.create(machineType, parse(printedYaml) as Machine)
    const [program, ...args] = printedCommand.split(' ')
    expect([program, args.at(-1)]).toEqual(['kubenode', DOCUMENTED])
    const { code, out } = await shell(await world.printed(...args))
    expect([code, out], log()).toEqual([0, expect.stringContaining(`${DOCUMENTED} has joined`)])
    await joined(DOCUMENTED)
    // Nothing of the download is left, and the token is on no disk.
    expect((await shell('ls -A /opt/kubenode; ls -d /tmp/tmp* /var/lib/kubenode/join.json 2> /dev/null')).out).toBe(
      'agent.mjs\nbin\nlib\nsupervisor.mjs\n',
    )
    await world.until('its Node has the address that reaches the server', async () => {
      const node = await world.admin.get(nodeType, { name: DOCUMENTED })
      return JSON.stringify(node?.status?.['addresses'] ?? '').includes('{"type":"InternalIP","address":"127.0.0.1"}')
    })
  })

  test('the same line again, and the line of another machine, change nothing on a host that has joined', async () => {
    await world.declare('other')
    const { code, out } = await shell(await world.joinCommand('other'))
    expect([code, out]).toEqual([
      1,
      expect.stringContaining(
        `KN8005: cannot join as other of test: this host already has the identity of ${DOCUMENTED}`,
      ),
    ])
    await joined(DOCUMENTED)
  })

  test('another join.sh than the one of the settings is not run', async () => {
    await world.declare('changed')
    const [line, path] = [await world.joinCommand('changed'), join(world.served, 'join.sh')]
    const script = readFileSync(path)
    writeFileSync(path, '#!/bin/sh\ntouch /evil\n')
    const { code, out } = await shell(line)
    writeFileSync(path, script)
    expect([code, out]).toEqual([1, expect.stringContaining('KN8084: cannot join: https:')])
    expect((await shell('ls /evil')).code).not.toBe(0)
  })

  test('an archive of another build is not run', async () => {
    const line = await world.joinCommand('changed')
    const [archive] = world.files
    const path = archive?.file ?? ''
    renameSync(path, `${path}.kept`)
    writeFileSync(path, 'another build')
    const { code, out } = await shell(line)
    renameSync(`${path}.kept`, path)
    expect([code, out]).toEqual([1, expect.stringContaining(`${basename(path)} is not the file that was expected`)])
  })

  test('a token that the server does not take ends with the error of the agent', async () => {
    await bare()
    await world.declare('late')
    const line = await world.joinCommand('late')
    const late = await world.machine('late')
    await world.admin.delete({ ...secrets }, { namespace: 'kube-system', name: await tokenSecret(world) })
    expect(late).toBeDefined()
    const { code, out } = await shell(line)
    expect([code, out]).toEqual([1, expect.stringMatching(/KN8088: .*has not joined: KN8003: cannot join as late/)])
  })

  test('user data of cloud-init, its file and its commands as printed', async () => {
    await bare()
    removeProgram(machine().root, 'curl')
    await world.declare('cloud')
    const text = await world.joinCommand('cloud', '--cloud-init')
    expect(text.startsWith('#cloud-config\n')).toBe(true)
    const data = parse(text) as UserData
    for (const { path, permissions, encoding, content } of data.write_files) {
      expect(encoding).toBe('b64')
      await shell(`umask 077; echo ${content} | base64 -d > ${path}; chmod ${permissions} ${path}`)
    }
    const ran = []
    for (const command of data.runcmd) ran.push(await machine().runAside(...command))
    expect([ran.map((r) => r.code), ran[0]?.out], log()).toEqual([[0, 0], expect.stringContaining('cloud has joined')])
    await joined('cloud')
    expect((await shell('ls /run/kubenode-join')).code).not.toBe(0)
  })

  test('a host without curl and wget is refused with the cause, and joins with files that were carried there', async () => {
    await bare()
    removeProgram(machine().root, 'wget')
    await world.declare('carried')
    const online = await shell(await world.joinCommand('carried'))
    expect([online.code, online.out]).toEqual([
      1,
      expect.stringContaining('KN8085: cannot join: this host has no curl'),
    ])
    mkdirSync(join(machine().root, 'root/files'), { recursive: true })
    for (const { file } of world.files) copyFileSync(file, join(machine().root, 'root/files', basename(file)))
    const line = await world.joinCommand('carried', '--offline', '--prefix', '/srv/kubenode', '--address', '192.0.2.7')
    const { code, out } = await shell(`cd /root/files;${line}`)
    expect([code, out], log()).toEqual([0, expect.stringContaining('carried has joined')])
    await joined('carried')
    await world.until('its Node has the address of the line', async () => {
      const node = await world.admin.get(nodeType, { name: 'carried' })
      return JSON.stringify(node?.status?.['addresses'] ?? '').includes('192.0.2.7')
    })
  })
})

interface UserData {
  readonly write_files: readonly {
    readonly path: string
    readonly permissions: string
    readonly encoding: string
    readonly content: string
  }[]
  readonly runcmd: readonly (readonly string[])[]
}

const secrets = coreKind('Secret')

/** Of the newest join token. */
async function tokenSecret(world: JoinWorld): Promise<string> {
  const { items } = await world.admin.list(secrets, { namespace: 'kube-system' })
  const tokens = items.filter((s) => s['type'] === 'bootstrap.kubernetes.io/token')
  return (
    tokens.toSorted((a, b) => ((a.metadata.creationTimestamp ?? '') < (b.metadata.creationTimestamp ?? '') ? 1 : -1))[0]
      ?.metadata.name ?? ''
  )
}
