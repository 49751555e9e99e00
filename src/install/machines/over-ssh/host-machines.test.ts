import type { Machine } from '#api/kinds/machine.ts'
import { describe, expect, test } from 'vitest'
import { type HostDefaults, planHosts } from './host-machines.ts'
import { hostRows } from './hosts-csv.ts'

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEr6Xb1mZ2yTqkXo8v1C6lq0Jq5m0kZ1n8t0p3t2d5fQ'
const DEFAULTS: HostDefaults = { secret: 'hosts', acceptsNewKeys: false }
const planned = (text: string, defaults: Partial<HostDefaults> = {}, machines: readonly Machine[] = []) =>
  planHosts(hostRows(text).rows, { ...DEFAULTS, ...defaults }, machines)
const problems = (...of: Parameters<typeof planned>) =>
  planned(...of).problems.map(({ line, text }) => `${line}: ${text}`)

describe('the Machine of a row', () => {
  test('has what the row says, and the rest by default', () => {
    const text = `name,host,user,pool,zone,hostKey\ndb-1,10.0.0.7,admin,web,z-1,${KEY}\ndb-2.example.org,,,,,${KEY}\n`
    expect(
      planned(text, { pool: 'db' }).steps.map(({ kind, machine }) => [kind, machine.metadata.name, machine.spec]),
    ).toEqual([
      [
        'Create',
        'db-1',
        {
          channel: 'Agent',
          provider: { name: 'static' },
          pool: 'web',
          zone: 'z-1',
          ssh: { host: '10.0.0.7', port: 22, user: 'admin', hostKey: KEY, secretRef: { name: 'hosts' } },
        },
      ],
      [
        'Create',
        'db-2.example.org',
        {
          channel: 'Agent',
          provider: { name: 'static' },
          pool: 'db',
          ssh: { host: 'db-2.example.org', port: 22, user: 'root', hostKey: KEY, secretRef: { name: 'hosts' } },
        },
      ],
    ])
  })

  test('accepts the first key only where a person said so, and never that of a jump host', () => {
    const text = `name,hostKey\na,\nb,${KEY}\n`
    expect(planned(text, { acceptsNewKeys: true }).steps.map((s) => s.machine.spec.ssh?.firstUse)).toEqual([
      true,
      undefined,
    ])
    expect(planned(text, { hostCA: KEY }).steps.map((s) => s.machine.spec.ssh?.hostCA)).toEqual([KEY, undefined])
    expect(problems(text)).toEqual([expect.stringMatching(/^2: no host key; add a column hostKey/)])
    expect(problems('name,jumpHost\na,j\n', { acceptsNewKeys: true })).toEqual([
      expect.stringMatching(/^2: the jump host needs either/),
    ])
    const jumped = planned(`name,user,jumpHost,jumpHostKey,jumpPort\na,admin,j,${KEY},2222\n`, { acceptsNewKeys: true })
    expect(jumped.steps[0]?.machine.spec.ssh?.jump).toEqual({ host: 'j', port: 2222, user: 'admin', hostKey: KEY })
  })
})

describe('a row is refused', () => {
  test.each([
    ['name,hostKey\n,x\n', /^2: the name is missing/],
    [`name,port,hostKey\na,22a,${KEY}\n`, /^2: column port is no number; use one from 1 to 65535/],
    [`name,port,hostKey\na,70000,${KEY}\n`, /^2: column port is 70000/],
    [`name,hostKey\nA_b,${KEY}\n`, /^2: column name is "A_b"/],
    [`name,pool,hostKey\na,a b,${KEY}\n`, /^2: column pool is "a b"/],
    [`name,user,hostKey\na,-oProxyCommand=x,${KEY}\n`, /^2: "-oProxyCommand=x" is no user name; correct it/],
    [`name,host,hostKey\na,-x,${KEY}\n`, /^2: "-x" is no host name or address/],
    ['name,hostKey\na,ssh-ed25519 not-a-key-at-all\n', /^2: the host key is no line such as/],
    [`name,hostKey,hostCA\na,${KEY},${KEY}\n`, /^2: hostKey and hostCA are both there/],
    [`name,jumpPort,hostKey\na,22,${KEY}\n`, /^2: jumpPort without jumpHost/],
    [`name,host,hostKey\na,x,${KEY}\na,y,${KEY}\n`, /^3: a is also on line 2; remove one/],
    [`name,host,hostKey\na,x,${KEY}\nb,x,${KEY}\n`, /^3: x:22 is also on line 2; remove one/],
  ])('%j', (text, why) => {
    expect(problems(text)).toEqual([expect.stringMatching(why)])
  })

  test('without a Secret', () => {
    const none = planHosts(hostRows(`name,hostKey\na,${KEY}\n`).rows, { acceptsNewKeys: false }, [])
    expect(none.problems).toEqual([{ line: 2, text: expect.stringMatching(/^no Secret with a key/) }])
  })
})

describe('Machines that exist', () => {
  const text = `name,host,hostKey\na,10.0.0.1,${KEY}\n`
  const made = planned(text).steps[0]?.machine as Machine
  const withSsh = (ssh: object | undefined, name = 'a') =>
    ({ ...made, metadata: { name }, spec: { ...made.spec, ssh: ssh && { ...made.spec.ssh, ...ssh } } }) as Machine

  test('of an earlier run are followed, and not changed', () => {
    expect(planned(text, {}, [withSsh({})]).steps).toEqual([
      { kind: 'There', name: 'a', line: 2, machine: withSsh({}) },
    ])
  })

  test.each([
    [
      'another key',
      [withSsh({ hostKey: `${KEY}A` })],
      /^2: machine\/a exists with another spec.ssh.hostKey; use the same value/,
    ],
    ['another port and user', [withSsh({ port: 23, user: 'u' })], /another spec.ssh.port, spec.ssh.user/],
    ['no SSH', [withSsh(undefined)], /^2: machine\/a exists and is not joined over SSH/],
    ['the host of another one', [withSsh({}, 'z')], /^2: 10.0.0.1:22 is the host of machine\/z/],
  ])('with %s are refused', (_, machines, why) => {
    expect(problems(text, {}, machines)).toEqual([expect.stringMatching(why)])
  })

  const withSpec = (spec: object) => ({ ...made, spec: { ...made.spec, ...spec } }) as Machine

  test.each([
    ['another channel', { channel: 'Observe' }, /^2: machine\/a exists with channel Observe, and only channel Agent/],
    ['no provider', { provider: undefined }, /^2: machine\/a exists without spec.provider/],
    ['another pool', { pool: 'db' }, /^2: machine\/a exists with another spec.pool; use the same value/],
    ['another place', { zone: 'z-9', rack: 'r-9', class: 'c-9' }, /another spec.zone, spec.rack, spec.class;/],
    ['no pool', { pool: undefined }, /another spec.pool;/],
  ])('with %s are refused though their host is the same', (_, spec, why) => {
    const row = `name,host,pool,zone,rack,class,hostKey\na,10.0.0.1,web,z-1,r-1,c-1,${KEY}\n`
    const same = { pool: 'web', zone: 'z-1', rack: 'r-1', class: 'c-1' }
    expect(problems(row, {}, [withSpec(same)])).toEqual([])
    expect(problems(row, {}, [withSpec({ ...same, ...spec })])).toEqual([expect.stringMatching(why)])
  })

  test('may have what the row leaves out, and another provider', () => {
    const given = { pool: 'db', zone: 'z-1', provider: { name: 'cloud' } }
    expect(planned(text, {}, [withSpec(given)]).steps.map(({ kind }) => kind)).toEqual(['There'])
    expect(problems(text, { pool: 'web' }, [withSpec(given)])).toEqual([expect.stringMatching(/another spec.pool;/)])
  })
})
