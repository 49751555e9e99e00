// A repository that init made: checked, planned, followed by a cluster; and what its commits may try with the name kubenode. Init packs nothing here:
// init.full.test.ts does, and installs it.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { initFleet } from '#install/init/init.ts'
import { run } from '#cli/program.ts'
import { INVENTORY_FORM } from '#forecast/inventory.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { SECRET, syncBench, type SyncBench, GitFolder } from '#test/support/benches/sync-bench.ts'
import { inFullAll, onlyInFull } from '#test/support/tools/full.ts'
import { startGitServer } from '#test/support/servers/git-server.ts'
import { missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'

let scratch = ''
let made = ''
const repositories: GitFolder[] = []
let bench: SyncBench | undefined

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'kubenode-own-fleet-'))
  made = join(scratch, 'made')
  await initFleet(
    { dir: made, cluster: 'prod', key: join(scratch, 'key.pem'), force: false },
    {
      cwd: scratch,
      env: process.env,
      now: Date.now(),
      pack: async (folder) => ({ file: join(folder, 'none.tgz'), bytes: 0, integrity: '', entries: {} }),
    },
  )
})
afterEach(async () => {
  await bench?.close()
  bench = undefined
  for (const repository of repositories.splice(0)) repository.remove()
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** A copy of its own for each test. */
function repositoryOf(into: GitFolder = new GitFolder()): GitFolder {
  if (into.dir !== bench?.repository.dir) repositories.push(into)
  cpSync(made, into.dir, { recursive: true, filter: (path) => !path.endsWith('.git') })
  return into
}

async function kubenode(cwd: string, env: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (err += t),
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    isTerminal: false,
  }
  return { code: await run(argv, io), out, err }
}

/** Each shipped rule is one of them, so the number is not ours to know. */
const WHOLE_FLEET = /hub: [3-9]\d to add, 0 to change, 0 to remove/
const CAGE = ['--weak-cage', 'allow'] as const
const inside = (repository: GitFolder, ...argv: readonly string[]) => kubenode(repository.dir, {}, ...argv)

test('its checks pass, and a plan shows its objects', async () => {
  const repository = repositoryOf()
  repository.commit({})
  const lint = await inside(repository, 'lint', 'fleet', ...CAGE)
  expect(lint, lint.out + lint.err).toMatchObject({ code: 0 })
  expect(lint.out).not.toMatch(/warning|note/)
  expect((await inside(repository, 'rules', 'lint', ...CAGE)).code).toBe(0)
  const tested = await inside(repository, 'rules', 'test', ...CAGE)
  expect(tested.err).toMatch(/(\d+) of \1 cases passed/)
  expect((await inside(repository, 'rules', 'coverage', ...CAGE)).code).toBe(0)
  const plan = await inside(repository, 'plan', ...CAGE)
  expect(plan.out).toMatch(WHOLE_FLEET)
  for (const one of [
    'MachineSet.kubenode.io/workers',
    'NodeRemedier.kubenode.io/unwell-hello',
    'DefenderPolicy.kubenode.io/careful',
  ])
    expect(plan.out).toContain(`+ ${one}\n`)
  expect(plan.code).toBe(0)
})

test('its scenarios pass on assumed machines, and fail once a rule no longer repairs', async () => {
  const repository = repositoryOf()
  repository.commit({})
  const simulated = () =>
    inside(repository, 'simulate', '--dirty', '--fleet-cluster', 'hub', '--machines', '10', '--seeds', '2', ...CAGE)
  const held = await simulated()
  expect(held, held.out + held.err).toMatchObject({ code: 0 })
  expect(held.out).toContain('no cluster was read: 10 working machines of 1 declared MachineSet assumed')
  expect(held.out.match(/✔ 3 of 3 expectations hold/g)).toHaveLength(2)
  const rules = join(repository.dir, 'fleet/rules.ts')
  const enforced = `onlyRestarts(serviceUnhealthy('KubeletUnhealthy', 'kubelet'))`
  const text = readFileSync(rules, 'utf8')
  expect(text).toContain(enforced)
  writeFileSync(rules, text.replace(enforced, `{ ...${enforced}, mode: 'DryRun' }`))
  const failed = await simulated()
  expect(failed.err).toContain('not as expected: kubelets-hang: faults.open == 0')
  expect(failed.code).toBe(1)
})

describe('a provider that no controller serves', () => {
  const misspelled = (name: string) => {
    const repository = repositoryOf()
    repository.commit({ 'fleet/cluster.json': JSON.stringify({ nodes: 1, provider: name }) })
    return repository
  }

  test('is refused by lint and by plan of a new fleet, with the name that was probably meant', async () => {
    const repository = misspelled('statik')
    for (const command of [['lint', 'fleet'], ['plan']]) {
      const { code, out, err } = await inside(repository, ...command, ...CAGE)
      expect(out + err, command[0]).toMatch(
        /KN3075: .*no controller serves provider statik \(did you mean static\?\); served according to fleet\/providers\.json: static/,
      )
      expect(code, command[0]).not.toBe(0)
    }
  })

  test('is refused by a plan with an inventory of the cluster, also where the fleet lists nothing', async () => {
    const repository = misspelled('own')
    repository.git('rm', '--quiet', 'fleet/providers.json')
    repository.commit({})
    const lists = ['machines', 'nodes', 'machineSets', 'sets', 'components', 'revisions', 'permits', 'holds']
    const empty = Object.fromEntries([...lists, 'approvals', 'policies', 'fullBudgets'].map((name) => [name, []]))
    const planned = async (...providers: readonly string[]) => {
      const inventory = { form: INVENTORY_FORM, cluster: 'hub', takenAt: new Date().toISOString(), ...empty, providers }
      const file = join(scratch, 'inventory.json')
      writeFileSync(file, JSON.stringify(inventory))
      const { code, out, err } = await inside(repository, 'plan', '--inventory', file, ...CAGE)
      return { code, text: out + err }
    }
    const refused = await planned('static')
    expect(refused.text).toMatch(/KN1451: .*the controllers of cluster hub serve no provider own; they serve static/)
    expect(refused.code).not.toBe(0)
    const served = await planned('own', 'static')
    expect(served, served.text).toMatchObject({ code: 0 })
    expect(served.text).not.toMatch(/KN(307[56]|1451)/)
  })

  test('is accepted once the fleet lists it, such as one of your own', async () => {
    const repository = misspelled('own')
    expect((await inside(repository, 'lint', 'fleet', ...CAGE)).code).not.toBe(0)
    const providers = [{ name: 'static' }, { name: 'own' }]
    repository.commit({ 'fleet/providers.json': JSON.stringify({ providers }) })
    const lint = await inside(repository, 'lint', 'fleet', ...CAGE)
    expect(lint, lint.out + lint.err).toMatchObject({ code: 0 })
    expect(lint.out + lint.err).not.toMatch(/KN307[56]/)
  })
})

describe('S7, S15 a commit cannot choose what the name kubenode means, nor reach out of itself', () => {
  const EVIL = `throw new Error('this is the package of the commit')\nexport const MachineSet = 1\n`
  const planned = async (change: (repository: GitFolder) => void) => {
    const repository = repositoryOf()
    change(repository)
    repository.git('add', '--all', '--force')
    repository.commit({})
    return inside(repository, 'plan', ...CAGE)
  }
  const put = (repository: GitFolder, path: string, text: string) => {
    mkdirSync(join(repository.dir, path, '..'), { recursive: true })
    writeFileSync(join(repository.dir, path), text)
  }

  test('a package kubenode in its node_modules, at the root and below fleet/, is not loaded', async () => {
    const { code, out, err } = await planned((repository) => {
      for (const folder of ['', 'fleet/', 'rules/']) {
        const at = `${folder}node_modules/kubenode`
        put(repository, `${at}/package.json`, '{"name":"kubenode","exports":{"./*":"./evil.js"},"type":"module"}')
        put(repository, `${at}/evil.js`, EVIL)
        put(repository, `${folder}node_modules/cdk8s/index.js`, EVIL)
      }
      put(repository, 'fleet/package.json', '{"name":"kubenode","exports":{"./*":"./evil.ts"}}')
      put(repository, 'fleet/evil.ts', EVIL)
    })
    expect(err).not.toContain('package of the commit')
    expect(out).toMatch(WHOLE_FLEET)
    expect(code).toBe(0)
  })

  // src/sync/render/inside/imports.test.ts has the whole table.
  const tries: readonly (readonly [string, string, RegExp])[] = [
    ['a file of the machine', `import '/etc/passwd'`, /KN7103.*"\/etc\/passwd" may not be imported/],
    ['a file above the repository', `import '../../../../../etc/passwd'`, /KN7103.*there is no file etc\/passwd/],
    ['its own node_modules by path', `import '../node_modules/x/index.js'`, /KN7103.*there is no file/],
    ['the inside of kubenode', `import 'kubenode/src/lib/errors.ts'`, /KN7103/],
    [
      'the package by the name inside it',
      `import '#api/constructs/constructs.ts'`,
      /KN7103.*import "kubenode\/constructs"/,
    ],
    [
      'a name that kubenode does not export',
      `import 'kubenode/nothing'`,
      /KN7103.*the release has no kubenode\/nothing/,
    ],
    ['a name with dots', [`await import(`, `'kubenode/../../package.json')`].join(''), /KN7103/],
  ]
  test.each(inFullAll(tries, 4))('%s', async (_, line, why) => {
    const { code, err } = await planned((repository) => {
      const path = join(repository.dir, 'fleet/main.ts')
      writeFileSync(path, `${line}\n${readFileSync(path, 'utf8')}`)
    })
    expect(err).toMatch(why)
    expect(code).toBe(2)
  })

  test('a link among its files is not followed', async () => {
    const { code, err } = await planned((repository) => {
      writeFileSync(join(scratch, 'outside.ts'), EVIL)
      rmSync(join(repository.dir, 'fleet/rules.ts'))
      symlinkSync(join(scratch, 'outside.ts'), join(repository.dir, 'fleet/rules.ts'))
    })
    expect(err).toMatch(/KN7005: cannot read fleet\/rules\.ts .* it is a symlink/)
    expect(code).toBe(2)
  })
})

describe('bootstrap', () => {
  const start = async () => {
    bench = await syncBench([])
    await bench.hub.client.delete(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'fleet' })
    repositoryOf(bench.repository)
    const kubeconfig = join(scratch, 'hub.kubeconfig')
    writeFileSync(kubeconfig, bench.hub.server.adminKubeconfig(), { mode: 0o600 })
    const follow = (...argv: readonly string[]) =>
      kubenode(scratch, { KUBECONFIG: kubeconfig }, 'bootstrap', '--no-install', ...CAGE, ...argv)
    return { ...bench, follow, url: `file://${bench.repository.dir}` }
  }
  const sources = async ({ hub }: Pick<SyncBench, 'hub'>) => (await hub.client.list(fleetSource)).items

  test('the cluster follows the repository; a second run changes nothing, another repository is refused', async () => {
    const world = await start()
    const { follow, url, hub } = world
    expect((await follow('--git', url)).err).toMatch(/^KN7049: .* it has no commit on branch main/)
    const commit = world.repository.commit({})
    expect((await follow('--git', url, '--branch', 'other')).err).toMatch(/^KN7049: .* no commit on branch other/)
    // Settings are asked for where they are installed, once.
    const dry = await follow('--git', url, '--dry-run', '--cluster', 'hub', '--roles', 'hub,business')
    expect(dry.err).not.toContain('apiServer.url')
    expect(dry.out).toContain('would apply FleetSource kubenode-system/fleet\n')
    expect(await sources(world)).toEqual([])

    await world.start()
    const first = await follow('--git', url)
    expect(first.out, first.err).toMatch(new RegExp(`commit ${commit.slice(0, 12)} "[^"]+" by .+ is applied`))
    expect(first.code).toBe(0)
    expect(await hub.client.get(machineComponentSet, { name: 'base' })).toMatchObject({
      metadata: { annotations: { 'kubenode.io/commit': commit } },
    })
    const [before] = await sources(world)
    expect((await follow('--git', url)).code).toBe(0)
    expect((await sources(world)).map((s) => s.metadata.generation)).toEqual([before?.metadata.generation])
    expect((await follow('--git', url, '--path', 'below')).err).toMatch(/^KN1524: .*follows file:/)

    world.repository.commit({ 'fleet/main.ts': 'throw new Error("broken")\n' })
    expect((await follow('--git', url)).err).toMatch(/^KN7102: .*broken/)
    world.repository.git('rm', '-q', '-r', 'fleet')
    world.repository.commit({})
    expect((await follow('--git', url)).err).toMatch(/^KN7011: .*fleet\/main\.ts/)
  })

  test('what cannot be followed is refused before anything is written', async (context) => {
    onlyInFull(context)
    const world = await start()
    const { follow, url, hub } = world
    world.repository.commit({})
    const refused = async (...argv: readonly string[]) => (await follow(...argv)).err.split('\n')[0]
    expect(await refused('--git', 'ssh://git@git.example.org/fleet.git')).toMatch(
      /^KN7023: .*--ssh-key and --known-hosts/,
    )
    expect(await refused('--git', 'git@git.example.org:fleet.git')).toMatch(
      /^KN1520: .*write ssh:\/\/git@git.example.org\/fleet.git/,
    )
    expect(await refused('--git', 'http://git.example.org/fleet.git')).toMatch(/^KN1520: .*https, ssh or file/)
    const inSsh = await refused('--git', 'ssh://git:hunter2@git.example.org/fleet.git')
    expect(inSsh).toMatch(/^KN1520: (?!.*hunter2).*contains a user or a password/)
    const secret = await refused('--git', 'https://me:hunter2@git.example.org/fleet.git')
    expect(secret).toMatch(/^KN1520: .*contains a user or a password/)
    expect(secret).not.toContain('hunter2')
    expect(await refused('--git', 'https://127.0.0.1:1/fleet.git')).toMatch(/^KN7009: cannot fetch/)
    expect(await refused('--git', 'file:///nowhere')).toMatch(/^KN1011: /)
    const other = { url, tracks: [{ name: 'x', pipelineRef: { name: 'standard' } }] }
    await hub.client.create(fleetSource, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'FleetSource',
      metadata: { name: 'mine', namespace: SYSTEM_NAMESPACE },
      spec: other,
    } as never)
    expect(await refused('--git', url)).toMatch(/^KN1524: .*FleetSource kubenode-system\/mine follows/)
    await hub.client.delete(fleetSource, { namespace: SYSTEM_NAMESPACE, name: 'mine' })

    // The signature no longer fits, so no trusted key signed it.
    const statement = join(world.repository.dir, 'fleet/components/hello-1.0.0.json')
    writeFileSync(statement, readFileSync(statement, 'utf8').replace('"disruption": "Restart"', '"disruption": "None"'))
    world.repository.commit({})
    expect(await refused('--git', url)).toMatch(/^KN7117: .*hello/)
    expect(await sources(world)).toEqual([])
  })

  test('a key and host keys of ssh become the Secret of the source, and stay for a later run', async (context) => {
    const missing = missingSshServer()
    if (missing !== undefined) context.skip(missing)
    const world = await start()
    const { follow, hub } = world
    world.repository.commit({})
    const ssh = await startSshServer()
    try {
      const url = ssh.urlOf(join(world.repository.dir, '.git'))
      writeFileSync(join(scratch, 'hosts'), ssh.knownAs(ssh.host))
      writeFileSync(join(scratch, 'other-hosts'), ssh.knownAs(ssh.strange))
      const keyed = ['--git', url, '--ssh-key', ssh.client.file, '--no-wait'] as const
      expect((await follow(...keyed)).err).toMatch(/^KN7023: .*has no known_hosts; name files/)
      expect((await follow(...keyed, '--known-hosts', 'other-hosts')).err).toMatch(/^KN7028: .*it sent SHA256:/)
      const first = await follow(...keyed, '--known-hosts', 'hosts')
      expect(first.code, first.err).toBe(0)
      const secret = await hub.client.get(SECRET, { namespace: CLUSTERS_NAMESPACE, name: 'fleet-git' })
      expect(Object.keys(secret?.['data'] ?? {}).toSorted()).toEqual(['known_hosts', 'ssh-privatekey'])
      expect((await sources(world))[0]?.spec.secretRef).toEqual({ name: 'fleet-git' })
      expect((await follow('--git', url, '--no-wait')).code).toBe(0)
    } finally {
      await ssh.close()
    }
  })

  test('credentials of https become the Secret of the source, and stay for a later run', async (context) => {
    // As those of ssh above.
    onlyInFull(context)
    const world = await start()
    const { follow, hub } = world
    world.repository.commit({})
    const now = Date.now()
    const ca = newAuthority('git', { now, days: 30 })
    const validity = { now, days: 2 }
    const subject = { commonName: 'git' }
    const pair = issueCertificate(ca, { subject, validity, usage: 'server', hosts: ['127.0.0.1'] })
    const git = await startGitServer(world.repository.dir, pair)
    const basic = `Basic ${Buffer.from('kubenode:s3cret').toString('base64')}`
    git.answer = (authorization) =>
      authorization === basic ? { kind: 'Repository' } : { kind: 'Refused', status: 401 }
    try {
      const url = `https://127.0.0.1:${git.port}/${basename(world.repository.dir)}`
      writeFileSync(join(scratch, 'ca.pem'), ca.certificate)
      writeFileSync(join(scratch, 'token'), 's3cret\n')
      writeFileSync(join(scratch, 'wrong'), 'other\n')
      const given = ['--git', url, '--ca', 'ca.pem', '--no-wait'] as const
      expect((await follow('--git', url, '--token-file', 'token')).err).toMatch(/^KN7024: /)
      expect((await follow(...given, '--token-file', 'wrong')).err).toMatch(/^KN7023: /)
      const first = await follow(...given, '--token-file', 'token')
      expect(first.code, first.err).toBe(0)
      expect(`${first.out}${first.err}`).not.toContain('s3cret')
      const secret = await hub.client.get(SECRET, { namespace: CLUSTERS_NAMESPACE, name: 'fleet-git' })
      expect(Object.keys(secret?.['data'] ?? {}).toSorted()).toEqual(['ca.crt', 'password', 'username'])
      expect((await sources(world))[0]?.spec.secretRef).toEqual({ name: 'fleet-git' })
      expect((await follow('--git', url, '--no-wait')).code).toBe(0)
    } finally {
      await git.close()
    }
  })
})
