// What hands that know kubectl type, against a server: lists by every form, watches, namespaces, trees, events, and holds of sources.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { coreKind } from '#kube/core-kinds.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machine } from '#api/kinds/machine.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { release } from '#api/kinds/release.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { ANNOTATIONS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { run } from '#cli/program.ts'
import type { KubeClient } from '#kube/client.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type RunningServer, apiServers } from '#test/support/servers/api-servers.ts'
import { microTimestamp } from '#lib/clock.ts'
import { leaseType } from '#runtime/lease.ts'
import { nodeType } from '#nodes/objects.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { defined } from '#lib/defined.ts'

const named = (kind: string, name: string, namespace?: string) => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: {
    name,
    ...defined({ namespace }),
    ...(kind === 'Machine' && { labels: { zone: name } }),
  },
})

const NO_RULES = /^no noderemediers\.kubenode\.io found in context \S+ of \S+\n$/

describe.each(apiServers)('$name', ({ start }) => {
  let server: RunningServer
  let admin: KubeClient

  beforeAll(async () => {
    server = await start()
    admin = new HttpKubeClient({
      server: server.url,
      ca: { data: server.ca },
      clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    })
    await installAll(admin)
    for (const name of ['m-1', 'm-2'])
      await admin.create<KubeObject>(machine, { ...machine.example, ...named('Machine', name) })
    const namespace = coreKind('Namespace')
    await admin.create(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
    const titled = { ...release.example.spec, subject: 'beacon 1.1.0', author: 'Ada' }
    await admin.create<KubeObject>(release, {
      ...release.example,
      ...named('Release', 'r-1', SYSTEM_NAMESPACE),
      spec: titled,
    })
    await admin.create<KubeObject>(release, { ...release.example, ...named('Release', 'r-2', 'other') })
    const { spec } = fleetSource.example
    await admin.create<KubeObject>(fleetSource, { spec, ...named('FleetSource', 'fleet', SYSTEM_NAMESPACE) })
  })
  afterAll(() => server?.stop())

  async function kubenodeBy(kubeconfig: string, argv: readonly string[], cwd = '/') {
    const said = { out: '', err: '' }
    const io = {
      out: (t: string) => void (said.out += t),
      err: (t: string) => void (said.err += t),
      cwd,
      env: { KUBECONFIG: kubeconfig },
      isTerminal: false,
    }
    const code = await run(argv, io)
    // Said while a busy machine lets a command wait for its server.
    return { code, ...said, err: said.err.replaceAll(/^waiting for https:.*\n/gm, '') }
  }
  const kubenode = (...argv: string[]) => kubenodeBy(server.kubeconfig, argv)

  /** Runs a command that follows, does something once it printed, and ends it when the pattern was printed. */
  async function watched(argv: readonly string[], change: () => Promise<unknown>, pattern: RegExp): Promise<string> {
    const end = new AbortController()
    let out = ''
    const print = (t: string) => void (out += t)
    const env = { KUBECONFIG: server.kubeconfig }
    const running = run(argv, {
      out: print,
      err: () => undefined,
      cwd: '/',
      env,
      isTerminal: false,
      signal: end.signal,
    })
    await expect.poll(() => out, { interval: 20 }).not.toBe('')
    await change()
    await expect.poll(() => pattern.test(out) || out, { interval: 20 }).toBe(true)
    end.abort(new Error('the test ends'))
    expect(await running).toBe(0)
    return out
  }

  describe('completion asks the server', () => {
    const completed = async (...words: string[]) =>
      (await kubenode('__complete', '--', ...words)).out.split('\n').map((line) => line.split('\t')[0])

    test('for names, namespaces, and the components of a machine', async () => {
      const { spec } = machine.example
      const [declared] = spec.components ?? []
      await admin.create<KubeObject>(machine, {
        spec: {
          ...spec,
          components: [
            { ...declared, name: 'kubelet' },
            { ...declared, name: 'in-pods', workload: true },
          ],
        },
        ...named('Machine', 'm-of-components'),
      })
      // A loaded machine may take longer for an answer than a person waits.
      const answers = (words: readonly string[]) => expect.poll(() => completed(...words), { interval: 20 })
      await answers(['get', 'machine', 'm-of']).toEqual(['m-of-components', ''])
      await answers(['get', 'releases', '-n', 'oth']).toEqual(['other', ''])
      await answers(['logs', 'machine/m-of-components', '-c', '']).toEqual(['kubelet', ''])
      await answers(['logs', 'm-of-components', 'k']).toEqual(['kubelet', ''])
      await admin.delete(machine, { name: 'm-of-components' })
    })
  })

  test('KUBECONFIG lists files, and --context picks from all of them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubenode-kubeconfigs-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { clusters, users } = parse(readFileSync(server.kubeconfig, 'utf8')) as {
      readonly clusters: readonly [{ readonly cluster: object }]
      readonly users: readonly [{ readonly user: object }]
    }
    const second = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'far', cluster: clusters[0].cluster }],
      users: [{ name: 'far', user: users[0].user }],
      contexts: [{ name: 'far', context: { cluster: 'far', user: 'far', namespace: 'other' } }],
    }
    const file = join(folder, 'second')
    writeFileSync(file, JSON.stringify(second), { mode: 0o600 })
    const list = [server.kubeconfig, join(folder, 'does-not-exist'), file].join(delimiter)
    const asked = ['get', 'krel', '-o', 'name']
    expect(await kubenodeBy(list, asked)).toMatchObject({ code: 0, out: 'release.kubenode.io/r-1\n' })
    expect(await kubenodeBy(list, [...asked, '--context', 'far'])).toMatchObject({
      code: 0,
      out: 'release.kubenode.io/r-2\n',
    })
    expect((await kubenodeBy(list, [...asked, '--context', 'nowhere'])).err).toMatch(/KN\d+: .*nowhere/)
  })

  describe('get', () => {
    test.each([
      [['km', '-o', 'name'], 'machine.kubenode.io/m-1\nmachine.kubenode.io/m-2\n'],
      [['machine/m-1', 'machine/m-2', '-o', 'name'], 'machine.kubenode.io/m-1\nmachine.kubenode.io/m-2\n'],
      [['machines', '-l', 'zone=m-2', '-o', 'name'], 'machine.kubenode.io/m-2\n'],
      [['machines', '--field-selector', 'metadata.name=m-1', '-o', 'name'], 'machine.kubenode.io/m-1\n'],
      [['krel', '-o=name'], 'release.kubenode.io/r-1\n'],
      [['krel', '-n=other', '-o=name'], 'release.kubenode.io/r-2\n'],
      [['krel', '-o', 'name'], 'release.kubenode.io/r-1\n'],
      [['krel', '-n', 'other', '-o', 'name'], 'release.kubenode.io/r-2\n'],
      [['krel', '-A', '-o', 'name'], 'release.kubenode.io/r-1\nrelease.kubenode.io/r-2\n'],
      [['-n', 'other', 'release', 'r-2', '-o', 'name'], 'release.kubenode.io/r-2\n'],
    ])('%j', async (argv, want) => {
      const { code, out } = await kubenode('get', ...argv)
      expect([code, out.split(' ').toSorted()]).toEqual([0, want.split(' ').toSorted()])
    })

    test('several kinds are tables of their own with the kind before each name', async () => {
      const { out } = await kubenode('get', 'machines,releases')
      expect(out).toMatch(
        /^NAME .*\nmachine\.kubenode\.io\/m-1 .*\nmachine\.kubenode\.io\/m-2 .*\n\nNAME .*\nrelease\.kubenode\.io\/r-1 /,
      )
    })

    test('-A shows the namespace, --show-labels the labels, --no-headers no head', async () => {
      expect((await kubenode('get', 'krel', '-A')).out).toMatch(/^NAMESPACE +NAME .*\n(.*\n)*other +r-2 /)
      expect((await kubenode('get', 'km', '--show-labels', '--no-headers')).out).toMatch(/^m-1 .* zone=m-1\n/)
    })

    test('-L shows labels in columns, --show-kind the kind, and --ignore-not-found is silent about a missing name', async () => {
      const { out } = await kubenode('get', 'km', '-L', 'zone,kubenode.io/pool', '-L', 'x', '--show-kind')
      expect(out).toMatch(
        /^NAME .* ZONE +POOL +X\nmachine\.kubenode\.io\/m-1 .* m-1\nmachine\.kubenode\.io\/m-2 .* m-2\n$/,
      )
      for (const form of [[], ['-o', 'json'], ['-o', 'name']])
        expect(await kubenode('get', 'machine', 'nope', '--ignore-not-found', ...form)).toEqual({
          code: 0,
          out: '',
          err: '',
        })
      for (const form of [[], ['-o', 'name']]) {
        const { code, err, out: found } = await kubenode('get', 'machine', 'nope', 'm-1', 'nix', ...form)
        expect([code, err.match(/cannot find machine\/\w+/g)]).toEqual([
          2,
          ['cannot find machine/nope', 'cannot find machine/nix'],
        ])
        // The machine that exists is printed as well.
        expect(found).toContain('m-1')
        expect(found).not.toContain('nope')
      }
      expect((await kubenode('get', 'machine', 'nope', 'm-1', '--ignore-not-found')).out).toMatch(/^NAME .*\nm-1 /)
    })

    test('a selector that the server does not understand is named as the mistake', async () => {
      const { code, err } = await kubenode('get', 'km', '-l', 'a in (b')
      expect([code, err]).toEqual([2, expect.stringMatching(/^KN1348: .* correct --selector or --field-selector/)])
    })

    test('objects that a selector leaves out are not just absent, and their labels are named', async () => {
      expect((await kubenode('get', 'km', '-l', 'area=a')).err).toMatch(
        /^no machines\.kubenode\.io match -l area=a; they have the labels .*\bzone\b.*\n$/,
      )
      expect((await kubenode('get', 'km', '--field-selector', 'metadata.name=none')).err).toBe(
        'no machines.kubenode.io match --field-selector metadata.name=none\n',
      )
      expect((await kubenode('get', 'rules', '-l', 'a=b')).err).toMatch(NO_RULES)
    })

    test('on a hub, what only its clusters have is not just absent', async () => {
      expect((await kubenode('get', 'rules')).err).toMatch(NO_RULES)
      const { spec } = cluster.example
      await admin.create<KubeObject>(cluster, { spec, ...named('Cluster', 'east', SYSTEM_NAMESPACE) })
      expect((await kubenode('get', 'rules')).err).toMatch(
        / found in context \S+ of \S+; it is the hub of east; .* --context\n$/,
      )
      expect((await kubenode('rollout', 'status', 'set/base')).err).toMatch(
        /^KN1313: cannot find set\/base in context \S+ of \S+; it is the hub of east; .* --context; list what there is /,
      )
      await admin.delete(cluster, { name: 'east', namespace: SYSTEM_NAMESPACE })
    })

    test('a commit is traced by its id, and by a word of git in a repository', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'kubenode-trace-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const git = (...args: readonly string[]) =>
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], { cwd: folder })
      git('init', '-q')
      git('commit', '-q', '--allow-empty', '-m', 'x')
      const id = git('rev-parse', 'HEAD').toString().trim()
      for (const word of [id, 'HEAD', '@'])
        expect(await kubenodeBy(server.kubeconfig, ['trace', word], folder)).toMatchObject({
          code: 0,
          out: expect.stringMatching(`commit ${id} has no release`) as string,
        })
      expect((await kubenodeBy(server.kubeconfig, ['trace', 'HEAD~1'], folder)).code).not.toBe(0)
    })

    test('--quiet leaves hints out, and neither results nor errors', async () => {
      expect(await kubenode('--quiet', 'get', 'rules')).toEqual({ code: 0, out: '', err: '' })
      expect((await kubenode('-q', 'get', 'km', '-o', 'name')).out).toContain('machine.kubenode.io/m-1\n')
      expect(await kubenode('--quiet', 'get', 'machine', 'nope')).toMatchObject({
        code: 2,
        err: expect.stringMatching(/^KN1313: /) as string,
      })
    })

    test('who wrote which field is shown only when it is asked for', async () => {
      expect((await kubenode('get', 'machine', 'm-1', '-o', 'yaml')).out).not.toContain('managedFields')
      expect((await kubenode('get', 'machine', 'm-1', '-o', 'json', '--show-managed-fields')).out).toContain(
        'managedFields',
      )
    })

    test.each([
      [['nothing-like-it'], /^KN1310: /],
      [['source', 'git', 'fleet'], /^KN1002: .*kubenode get source fleet/],
      [[], /^KN1002: which kind\?.*machines/],
      [['machine', 'm-1', '-l', 'a=b'], /^KN1002: /],
      [['machines', '-L', 'zone', '-o', 'json'], /^KN1002: .*--label-columns/],
      [['machines', '-L', 'a=b'], /^KN1002: .*names of labels/],
      [['machines,nodes', '-w'], /^KN1002: /],
      [['machine/m-1', 'nodes'], /^KN1002: /],
      [['km', '-o', 'jsonpath={.items[9].kind}'], /^KN1002: .*type kubectl get machines\.kubenode\.io .*-o 'jsonpath=/],
      [['machine', 'm'], /^KN1313: .*did you mean machine\/m-1/],
      [['krel', 'r-1', '-n', 'other'], /^KN1313: .*did you mean krel\/r-2/],
      [['krel', 'r-1', '-n', '../x'], /^KN1313: /],
      [['km', '-l', 'a in'], /^KN1348: /],
    ])('%j is refused', async (argv, want) => {
      const { code, err, out } = await kubenode('get', ...argv)
      expect([code, err, out]).toEqual([2, expect.stringMatching(want), ''])
    })

    test('-w shows what is made right after the list was shown', async () => {
      const end = new AbortController()
      let out = ''
      const made = { ...machine.example, metadata: { name: 'm-5', labels: { late: 'yes' } } }
      let making: Promise<unknown> | undefined
      const onShown = (text: string): void => {
        out += text
        making ??= admin.create<KubeObject>(machine, made)
      }
      const io = {
        out: onShown,
        err: onShown,
        cwd: '/',
        env: { KUBECONFIG: server.kubeconfig },
        isTerminal: false,
        signal: end.signal,
      }
      const watching = run(['get', 'km', '-w', '-l', 'late=yes'], io)
      await expect.poll(() => /^m-5 /m.test(out) || out, { interval: 20 }).toBe(true)
      await making
      await admin.delete(machine, { name: 'm-5' })
      end.abort(new Error('the test ends'))
      expect(await watching).toBe(0)
    })

    test('-w shows each change as a row, and the row of what was deleted', async () => {
      const end = new AbortController()
      let out = ''
      const seen = (pattern: RegExp) => expect.poll(() => pattern.test(out) || out, { interval: 20 }).toBe(true)
      const io = {
        out: (t: string) => void (out += t),
        err: () => undefined,
        cwd: '/',
        env: { KUBECONFIG: server.kubeconfig },
        isTerminal: false,
        signal: end.signal,
      }
      const watching = run(['get', 'km', '-w', '-l', 'watched=yes'], io)
      const made = { ...machine.example, ...named('Machine', 'm-3') }
      // Made again until the watch is open: what was there before is listed.
      await admin.create<KubeObject>(machine, { ...made, metadata: { name: 'm-3', labels: { watched: 'yes' } } })
      await seen(/m-3/)
      const changed = { type: 'merge', value: { metadata: { annotations: { a: 'b' } } } } as const
      const rows = () => out.match(/^m-3 /gm)?.length ?? 0
      const before = rows()
      let patched = 0
      await expect
        .poll(
          async () => (
            await admin.patch(
              machine,
              { name: 'm-3' },
              { ...changed, value: { metadata: { annotations: { a: `${++patched}` } } } },
            ),
            rows()
          ),
        )
        .toBeGreaterThan(before)
      await admin.delete(machine, { name: 'm-3' })
      await seen(/m-3 .*\(deleted\)/)
      end.abort(new Error('the test ends'))
      expect(await watching).toBe(0)
    })
  })

  describe('the hub', () => {
    test('a source is suspended with a reason and an end, and resumed', async () => {
      const { code, out } = await kubenode('suspend', 'source/fleet', '--reason', 'a move', '--for', '1h')
      expect([code, out]).toEqual([0, expect.stringMatching(/^source\/fleet is paused until .* a move\n$/)])
      const [hold] = (await admin.list(operationalHold)).items
      expect(hold?.spec.target).toEqual({ kind: 'FleetSource', namespace: SYSTEM_NAMESPACE, name: 'fleet' })
      expect((await kubenode('resume', 'source/fleet')).out).toBe('resumed: pause-fleetsource-fleet\n')
    })

    test('a name alone is enough where one object has it', async () => {
      expect((await kubenode('suspend', 'fleet', '--reason', 'a move')).out).toMatch(/^source\/fleet is paused until /)
      expect((await kubenode('resume', 'fleet')).out).toBe('resumed: pause-fleetsource-fleet\n')
      expect((await kubenode('freeze', 'm-1', '--reason', 'work')).err).toMatch(/run kubenode thaw machine\/m-1\n$/)
      expect((await kubenode('history', 'm-1')).err).toMatch(/^KN17003: there is no history in this folder/)
      expect((await kubenode('thaw', 'm-1')).out).toMatch(/^thawed in context \S+ of \S+: freeze-machine-m-1\n$/)
      expect((await kubenode('reconcile', 'fleet', '--no-wait')).out).toBe(
        'source/fleet: sync was asked to read it now\n',
      )
      await admin.create<KubeObject>(machineSet, { ...machineSet.example, ...named('MachineSet', 'm-1') })
      const { code, err } = await kubenode('pause', 'm-1', '--reason', 'x')
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/^KN1325: .*pause machine\/m-1, or .*pause machineset\/m-1/),
      ])
      await admin.delete(machineSet, { name: 'm-1' })
    })

    test('reconcile of nothing fails, so that a script on the wrong cluster stops', async () => {
      await admin.delete(fleetSource, { name: 'fleet', namespace: SYSTEM_NAMESPACE })
      const { code, out, err } = await kubenode('reconcile')
      expect([code, out, err]).toEqual([2, '', expect.stringContaining('no sources to reconcile')])
      const { spec } = fleetSource.example
      await admin.create<KubeObject>(fleetSource, { spec, ...named('FleetSource', 'fleet', SYSTEM_NAMESPACE) })
    })

    test('reconcile leaves a mark that makes sync read the repository', async () => {
      const asked = 'source/fleet: sync was asked to read it now\n'
      expect(await kubenode('reconcile', '--no-wait')).toEqual({ code: 0, out: asked, err: '' })
      // Without sync it does not wait for its time.
      const { code, out, err } = await kubenode('reconcile', 'source/fleet')
      expect([code, out, err]).toEqual([1, asked, expect.stringContaining('sync has never run here')])
      const found = await admin.get(fleetSource, { name: 'fleet', namespace: SYSTEM_NAMESPACE })
      expect(found?.metadata.annotations?.[ANNOTATIONS.reconcile]).toMatch(/^20\d\d-/)
    })

    test('reconcile now takes the only source, and names them when there are several', async () => {
      const asked = 'source/fleet: sync was asked to read it now\n'
      expect(await kubenode('reconcile', 'now', '--no-wait')).toEqual({ code: 0, out: asked, err: '' })
      const { spec } = fleetSource.example
      await admin.create<KubeObject>(fleetSource, { spec, ...named('FleetSource', 'other', SYSTEM_NAMESPACE) })
      const { code, out, err } = await kubenode('reconcile', 'now', '--no-wait')
      expect([code, out, err]).toEqual([2, '', expect.stringMatching(/^KN1325: .* source\/fleet, source\/other/)])
      await admin.delete(fleetSource, { name: 'other', namespace: SYSTEM_NAMESPACE })
    })

    test('reconcile waits for the answer of sync and fails with what it refused', async () => {
      const key = { name: 'fleet', namespace: SYSTEM_NAMESPACE }
      const sync = new AbortController()
      let condition = { type: 'Applied', status: 'True', reason: 'UpToDate', message: 'fine' }
      const answering = (async () => {
        while (!sync.signal.aborted) {
          const found = await admin.get(fleetSource, key)
          const asked = found?.metadata.annotations?.[ANNOTATIONS.reconcile]
          const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }]
          const value = {
            status: {
              commit: '3f1c9e0a7b5d00000000000000000000000000aa',
              subject: 'beacon 1.1.0',
              author: 'Ada',
              lastHandledReconcileAt: asked,
              conditions,
            },
          }
          await admin.patch(fleetSource, key, { type: 'merge', value } as never, { subresource: 'status' })
          await new Promise((done) => setTimeout(done, 50))
        }
      })()
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'kubenode-sync', namespace: SYSTEM_NAMESPACE },
      }
      const spec = { holderIdentity: 'a', leaseDurationSeconds: 60, renewTime: microTimestamp(Date.now()) }
      await admin.create<KubeObject>(leaseType, { ...lease, spec })
      expect(await kubenode('reconcile', 'source/fleet')).toEqual({
        code: 0,
        out: 'source/fleet: sync was asked to read it now\nsource/fleet: at commit 3f1c9e0a7b5d "beacon 1.1.0" by Ada, up to date\n',
        err: '',
      })
      condition = {
        type: 'Rendered',
        status: 'False',
        reason: 'InvalidSpec',
        message: 'fleet/main.ts does not compile',
      }
      const refused = await kubenode('reconcile')
      expect([refused.code, refused.err]).toEqual([1, 'source/fleet: fleet/main.ts does not compile\n'])
      sync.abort()
      await answering
      await admin.delete(leaseType, { name: 'kubenode-sync', namespace: SYSTEM_NAMESPACE })
    })

    test('a release stops by abort, its history lists it, and its tree has the hold', async () => {
      expect((await kubenode('release', 'history')).out).toMatch(
        /^TRACK +RELEASE .*\nmachines +r-1 +3f1c9e0a7b5d "beacon 1\.1\.0" by Ada +Pending/,
      )
      expect((await kubenode('get', 'releases')).out).toMatch(/COMMIT +SUBJECT +PHASE.*\n.* beacon 1\.1\.0 /)
      expect((await kubenode('history')).out).toContain('3f1c9e0a7b5d "beacon 1.1.0" by Ada')
      expect((await kubenode('why', 'release/r-1')).out).toContain(': commit 3f1c9e0a7b5d "beacon 1.1.0" by Ada\n')
      expect((await kubenode('release', 'status', 'r-1')).out).toContain('3f1c9e0a7b5d "beacon 1.1.0" by Ada of track')
      expect((await kubenode('trace', '3f1c9e0a7b5d')).out).toContain('  3f1c9e0a7b5d "beacon 1.1.0" by Ada\n')
      const { out, err } = await kubenode('release', 'abort', 'r-1', '--reason', 'x')
      expect(out).toMatch(/^release\/r-1 goes no further until /)
      expect(err).toContain('git revert 3f1c9e0a7b5d')
      expect((await kubenode('tree', 'release/r-1')).out).toMatch(
        /^release\/r-1\n├─ operationalhold\/pause-release-r-1: Pause until .*: x\n└─ source\/fleet, track machines, commit 3f1c9e0a7b5d "beacon 1\.1\.0" by Ada/,
      )
      expect((await kubenode('resume', 'release/r-1')).code).toBe(0)
    })

    test('status and history of releases are data too, and a status is followed until its end or a time', async () => {
      const one = await kubenode('release', 'status', 'r-1', '-o', 'json')
      expect(JSON.parse(one.out)).toMatchObject({ kind: 'Release', metadata: { name: 'r-1' } })
      expect(one.out).not.toContain('managedFields')
      const all = JSON.parse((await kubenode('release', 'history', '-o', 'json')).out) as {
        items: readonly KubeObject[]
      }
      expect(all.items.map((r) => r.metadata.name)).toEqual(['r-1'])
      const fleet = JSON.parse((await kubenode('history', '-o', 'json')).out) as { items: readonly KubeObject[] }
      expect(fleet.items.map((r) => r.metadata.name)).toEqual(['r-1'])
      expect((await kubenode('history', 'nothing')).err).toMatch(/^KN1313: cannot find an object called "nothing"/)
      const late = await kubenode('release', 'status', 'r-1', '--timeout', '1ms')
      expect([late.code, late.err]).toEqual([1, 'still in progress after 1ms; it continues\n'])
      const both = await kubenode('release', 'status', 'r-1', '-w', '-o', 'json')
      expect([both.code, both.err]).toEqual([2, expect.stringMatching(/^KN1002: .*--watch.*--output/)])
    })

    test('a release is promoted only while a stage soaks, and the hold names the stage', async () => {
      const refused = await kubenode('release', 'promote', 'r-1', '--reason', 'x')
      expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/^KN1374: .*no stage of it soaks/)])
      const found = await admin.get(release, { name: 'r-1', namespace: SYSTEM_NAMESPACE })
      if (found === undefined) throw new Error('no release')
      const waitingFor = { predicate: 'MinSuccessTime', since: '2026-01-01T00:00:00Z' }
      const stages = [{ name: 'test', phase: 'Soaking' as const, soakUntil: '2026-01-01T01:00:00Z', waitingFor }]
      const status = { ...found.status, phase: 'Progressing' as const, stages }
      await admin.update(release, { ...found, status }, { subresource: 'status' })
      const { code, out } = await kubenode('release', 'promote', 'release/r-1', '--reason', 'seen enough')
      expect([code, out]).toEqual([0, expect.stringMatching(/^ending the soak of stage test, .*gates still apply\n$/)])
      expect((await kubenode('release', 'status', 'r-1')).out).toContain('kubenode release promote r-1')
      const hold = await admin.get(operationalHold, { name: 'promote-release-r-1' })
      expect(hold?.spec).toMatchObject({ effect: 'Promote', to: 'test', reason: 'seen enough' })
    })
  })

  test('events of an object are listed, the newest last', async () => {
    const found = await admin.get(machine, { name: 'm-1' })
    const event = coreKind('Event')
    const about = { apiVersion: API_GROUP_VERSION, kind: 'Machine', name: 'm-1', uid: found?.metadata.uid }
    for (const [name, at] of [
      ['b', '2026-01-01T00:00:02Z'],
      ['a', '2026-01-01T00:00:01Z'],
    ] as const)
      await admin.create<KubeObject>(event, {
        apiVersion: 'v1',
        kind: 'Event',
        type: 'Normal',
        reason: `Reason-${name}`,
        message: `it\u001b[2J ${name}`,
        metadata: { name, namespace: 'default' },
        involvedObject: about,
        lastTimestamp: at,
        count: 3,
      })
    let narrow = ''
    const print = (t: string) => void (narrow += t)
    const env = { KUBECONFIG: server.kubeconfig }
    const io = { out: print, err: print, cwd: '/', env, isTerminal: true, width: () => 40 }
    await run(['events', 'machine/m-1', '--color', 'never'], io)
    expect(narrow.split('\n').filter((line) => line.length > 40)).toEqual([])
    expect(narrow).toMatch(/ machine\/m-1\b(.|\n)* Reason-a\n {4}it. *.* a\n/)
    const { out } = await kubenode('events', 'machine/m-1')
    expect(out).toMatch(/^LAST SEEN .*\n.* Reason-a .*\n.*\(3 times\).* machine\/m-1 +Reason-b /)
    expect(out).not.toContain('\u001b')
    expect((await kubenode('events')).out).toBe(out)
    expect((await kubenode('events', '-A')).out).toBe(out)
    expect(await kubenode('events', '-A', 'machine/m-1')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN1002: .*machine\/m-1/) as string,
    })
    expect((await kubenode('events', '--for', 'machine/m-1', '--types', 'normal')).out).toBe(out)
    expect(await kubenode('events', '--types', 'Warning')).toMatchObject({
      out: '',
      err: expect.stringMatching(/^no events/) as string,
    })
    const followed = await watched(
      ['events', '--for', 'machine/m-1', '-w'],
      async () => {
        const added = { apiVersion: 'v1', kind: 'Event', type: 'Warning', reason: 'Later', message: 'new' }
        const place = { metadata: { name: 'c', namespace: 'default' }, involvedObject: about }
        await admin.create<KubeObject>(event, { ...added, ...place, lastTimestamp: '2026-01-01T00:00:03Z' })
      },
      /Later/,
    )
    expect(followed.startsWith(out)).toBe(true)
    expect(followed.slice(out.length)).toMatch(/^\S+ +Warning +machine\/m-1 +Later +new\n$/)
  })

  test('a rollout is followed until its end or a time, and says what lifts a hold', async () => {
    const set = machineComponentSet.example
    await admin.create<KubeObject>(machineComponentSet, { ...set, ...named('MachineComponentSet', 'held') })
    const late = await kubenode('rollout', 'status', 'set/held', '--timeout', '1ms')
    expect([late.code, late.err]).toEqual([1, 'still in progress after 1ms; it continues\n'])
    expect(JSON.parse((await kubenode('rollout', 'status', 'held', '-o', 'json')).out)).toMatchObject({
      metadata: { name: 'held' },
    })
    const found = await admin.get(machineComponentSet, { name: 'held' })
    if (found === undefined) throw new Error('no set')
    const waitingFor = {
      predicate: 'HoldFreeze',
      since: '2026-01-01T00:00:00Z',
      seen: 'hold freeze-machinecomponentset-held: power work',
    }
    await admin.update(
      machineComponentSet,
      { ...found, status: { ...found.status, phase: 'Paused', waitingFor } },
      { subresource: 'status' },
    )
    expect((await kubenode('freeze', 'set/held', '--reason', 'power work')).code).toBe(0)
    const failed = await kubenode('rollout', 'status', 'held', '-w')
    expect((await kubenode('thaw', 'set/held')).out).toMatch(
      /^thawed in context \S+ of \S+: freeze-machinecomponentset-held\n$/,
    )
    expect([failed.code, failed.out]).toEqual([
      1,
      expect.stringMatching(/\n {2}to continue: kubenode thaw set\/held\n$/),
    ])
    await admin.delete(machineComponentSet, { name: 'held' })
    expect((await kubenode('watch', 'set/held', '--timeout', '1s')).err).toMatch(/^KN1002: /)
  })

  test('why takes several objects and ends with what to do first', async () => {
    const { code, out } = await kubenode('why', 'machine/m-1', 'machine/m-2')
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^machine\/m-1\n(.*\n)*\nmachine\/m-2\n(.*\n)*\nwhat to do first: .*\n$/),
    ])
  })

  describe('an object that is named without its kind', () => {
    test.each([
      ['why', 'fleet', /^source\/fleet/],
      ['describe', 'r-1', /kind: Release/],
      ['trace', 'r-1', /^release\/r-1/],
      ['events', 'r-1', /./],
    ])('is found by %s', async (command, name, want) => {
      const { code, out, err } = await kubenode(command, name)
      expect([code, out + err]).toEqual([0, expect.stringMatching(want)])
    })

    test('is asked back about when several have the name, and each is a command to type', async () => {
      await admin.create<KubeObject>(machine, { ...machine.example, ...named('Machine', 'twice') })
      await admin.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'twice' } })
      expect(await kubenode('why', 'twice')).toMatchObject({
        code: 2,
        err: 'KN1325: cannot tell which twice is meant: several objects have this name; type kubenode why machine/twice, or kubenode why node/twice\n',
      })
      expect((await kubenode('why-not', 'machine/twice')).err).toMatch(
        /^KN1381: .*it has no Node yet.*see kubenode why machine\/twice/,
      )
      // Its own Node is the same host: the Machine explains both, and events are listed of both.
      const value = { status: { nodeRef: { name: 'twice', uid: 'u' } } }
      await admin.patch(machine, { name: 'twice' }, { type: 'merge', value }, { subresource: 'status' })
      expect((await kubenode('why', 'twice')).out).toMatch(/^machine\/twice/)
      expect(await kubenode('events', 'twice')).toMatchObject({ code: 0 })
      expect(await kubenode('why-not', 'machine/twice')).toMatchObject({
        code: 0,
        out: expect.stringContaining('node/twice') as string,
      })
      // No program runs here, and what is read of the node may be out of date.
      expect((await kubenode('why-not', 'machine/twice')).out).toMatch(
        /^controllers\nStopped: .*\n.*\n\ndefender\nStopped: .*\n.*\n\nSilent \(node\/twice\): /,
      )
      // A command of few kinds has fewer to choose from.
      expect((await kubenode('watch', 'twice')).err).toMatch(/^KN1313: /)
      await admin.delete(machine, { name: 'twice' })
      await admin.delete(nodeType, { name: 'twice' })
    })

    test('is suggested by spelling when no object has the name', async () => {
      const { code, err } = await kubenode('why', 'fleeet')
      expect([code, err]).toEqual([2, expect.stringMatching(/^KN1313: .*"fleeet".*did you mean source\/fleet\?/)])
    })

    test('that is missing hides no other: each is reported, and the command fails', async () => {
      const { code, out, err } = await kubenode('why', 'machine/m-1', 'machine/lost', 'set/lost')
      expect([code, out]).toEqual([2, expect.stringMatching(/^machine\/m-1[^]*\nwhat to do first: /)])
      expect(err).toMatch(/^KN1313: cannot find machine\/lost [^\n]*\nKN1313: cannot find set\/lost [^\n]*\n$/)
      const none = await kubenode('describe', 'machine/lost')
      expect([none.code, none.out, none.err]).toEqual([2, '', expect.stringMatching(/^KN1313: [^\n]*\n$/)])
    })

    test('a command line without its object is shown with one that exists, unless it changes something', async () => {
      expect((await kubenode('describe')).err).toContain('(for example: kubenode describe machine/m-1)\n')
      expect((await kubenode('repair')).err).toContain("(for example: kubenode repair machine/NAME --reason 'WHY')\n")
    })
  })

  test('a permit is approved by its short noun: exactly its operations, by the person, for a time', async () => {
    const { spec } = operationPermit.example
    await admin.create<KubeObject>(operationPermit, { spec, ...named('OperationPermit', 'p-1') })
    const { code, out } = await kubenode('approve', 'permit/p-1', '--reason', 'seen in staging', '--for', '30m')
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^approved permit\/p-1 as \S+ until \S+ \(approval\/p-1-\w+\)\n$/),
    ])
    const [, name = ''] = /approval\/([\w-]+)\)/.exec(out) ?? []
    const permit = await admin.get(operationPermit, { name: 'p-1' })
    expect((await admin.get(approval, { name }))?.spec).toMatchObject({
      digest: permit && approvalDigest(permit.spec),
      of: { kind: 'OperationPermit', name: 'p-1' },
      reason: 'seen in staging',
    })
    await admin.delete(operationPermit, { name: 'p-1' })
  })

  test('watch ends by itself when nothing is in progress', async () => {
    const { code, out } = await kubenode('watch', '-n', 'empty', '--until-done')
    expect([code, out]).toEqual([0, expect.stringMatching(/^no sets and no releases in context \S+ of \S+\n$/)])
  })

  describe('docs/operations/three-in-the-morning.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/operations/three-in-the-morning.md'), 'utf8')
    const situations = page
      .split(/^## /m)
      .slice(1)
      .map((s) => ({
        title: s.split('\n')[0] ?? '',
        commands: (/```sh\n([\s\S]*?)```/.exec(s)?.[1] ?? '').trim().split('\n'),
      }))

    beforeAll(async () => {
      const set = machineComponentSet.example
      await admin.create<KubeObject>(machineComponentSet, { ...set, ...named('MachineComponentSet', 'base') })
      await admin.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-1' } })
    })

    test('has five situations, each with two commands first', () => {
      expect(situations.map((s) => s.commands.length)).toEqual([2, 2, 2, 2, 2])
    })

    test.each(
      situations.flatMap(({ title, commands }) =>
        // Whether an installation is whole is tested where there is one.
        commands
          .filter((c) => c.startsWith('kubenode ') && !c.startsWith('kubenode check '))
          .map((c) => [title, c] as const),
      ),
    )('%s: %s', async (_, command) => {
      const argv = command.replace(/#.*/, '').trim().split(/\s+/).slice(1)
      const { code, err } = await kubenode(...argv)
      expect([code, err]).toEqual([0, expect.not.stringMatching(/KN\d{4}/)])
    })
  })
})
