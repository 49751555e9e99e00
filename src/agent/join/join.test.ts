import { mkdirSync, mkdtempSync, rmSync, writeFileSync, existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import { loggerTo, silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { KubeClient } from '#kube/client.ts'
import { newAuthority } from '#test/support/servers/tls.ts'
import { realFiles } from '../files/real.ts'
import { pairFile, joinFile, keyFile, nodeDir, type NodeDir } from '../node-dir.ts'
import { newPublisher } from '#test/doubles/node/release.ts'
import { parseJoinBundle } from './bundle.ts'
import { readIdentity, readPair, writePair } from './identity.ts'
import { joinCluster, type JoinDeps } from './join.ts'
import { takeNodeLock } from './lock.ts'
import { csrType, newKey, requestName } from './request.ts'
import { renewInMs } from './rotation.ts'

const bundle = {
  server: 'https://127.0.0.1:1',
  caData: Buffer.from('-----BEGIN CERTIFICATE-----\nx').toString('base64'),
  token: 'abcdef.0123456789abcdef',
  machine: 'm-1',
  node: 'm-1',
  cluster: 'test',
  artifactBase: 'file:///a/',
  trust: newPublisher().anchor,
}

describe('a join bundle', () => {
  test('with base64 or PEM, an anchor alone or with its document', () => {
    expect(parseJoinBundle(bundle).ca).toMatch(/^-----BEGIN/)
    expect(parseJoinBundle({ ...bundle, caData: '-----BEGIN CERTIFICATE-----' }).ca).toMatch(/^-----BEGIN/)
    const document = newPublisher().trust()
    expect(parseJoinBundle({ ...bundle, trust: { anchor: bundle.trust, document } }).trustDocument).toEqual(document)
  })

  test.each([
    [undefined, undefined],
    [true, true],
    [false, false],
    ['yes', false],
  ])('that says %s of registering the Node: %s', (said, read) => {
    expect(parseJoinBundle({ ...bundle, ...defined({ registerNode: said }) }).registerNode).toBe(read)
  })

  test.each([
    [{ ...bundle, token: undefined }, /token is missing/],
    [{ ...bundle, caData: 'bm90IGEgY2VydA==' }, /caData is not a certificate/],
    [{ ...bundle, trust: {} }, /trust has no keys/],
    [{ ...bundle, trust: { ...bundle.trust, threshold: 0 } }, /trust has no keys/],
    ['text', /not a JSON object/],
  ])('that is wrong is refused: %#', (value, says) => {
    expect(() => parseJoinBundle(value)).toThrow(says)
  })
})

describe('joining', () => {
  let dir: NodeDir
  let fake: FakeKube
  let client: KubeClient

  beforeEach(() => {
    dir = nodeDir(mkdtempSync(join(tmpdir(), 'kubenode-join-')))
    for (const folder of [dir.root, dir.state]) mkdirSync(folder)
    writeFileSync(joinFile(dir), JSON.stringify(bundle))
    fake = new FakeKube({ clock: systemClock, random: seededRandom(1) })
    client = fake.client({ actor: 'test' })
  })
  afterEach(() => rmSync(dir.path, { recursive: true, force: true }))

  const deps = (more: Partial<JoinDeps> = {}): JoinDeps => ({
    files: realFiles,
    dir,
    clock: systemClock,
    log: silentLogger,
    signal: new AbortController().signal,
    connect: () => Object.assign(fake.client({ actor: 'agent' }), { close: () => undefined }),
    ...more,
  })

  const requests = async () => (await client.list(csrType)).items.map((r) => r.metadata.name)

  const setStatus = async (status: unknown) => {
    for (let n = 0; n < 500 && (await requests()).length === 0; n++) await systemClock.sleep(5)
    for (const name of await requests())
      await client.patch(
        csrType,
        { name: name ?? '' },
        { type: 'merge', value: { status } as never },
        { subresource: 'status' },
      )
  }

  test('that was cut off after asking goes on with the same key and the same request', async () => {
    const stop = new AbortController()
    const first = joinCluster(deps({ signal: stop.signal })).catch(messageOf)
    for (let n = 0; n < 500 && (await requests()).length === 0; n++) await systemClock.sleep(5)
    stop.abort(new Error('killed'))
    expect(await first).toBe('killed')
    const before = await requests()
    const again = new AbortController()
    const second = joinCluster(deps({ signal: again.signal })).catch(messageOf)
    await systemClock.sleep(100)
    again.abort(new Error('killed'))
    await second
    expect([before.length, await requests()]).toEqual([1, before])
    expect(statSync(keyFile(dir)).mode & 0o777).toBe(0o600)
  })

  test('S2 key and certificate change together, in a file that no other user reads', async () => {
    const pairs = await Promise.all(
      [1, 2].map(async () => {
        const { cert, key } = await (await newAuthority()).client('kubenode:agent:m-1')
        return { key, certificate: cert }
      }),
    )
    for (const pair of pairs) {
      await writePair(deps(), pair)
      const { mode } = statSync(pairFile(dir))
      expect([await readPair(deps()), mode & 0o777]).toEqual([pair, 0o600])
    }
  })

  test('S2 that is denied ends with what to check', async () => {
    const joining = joinCluster(deps()).catch(messageOf)
    await setStatus({ conditions: [{ type: 'Denied', status: 'True', message: 'unknown machine' }] })
    expect(await joining).toMatch(/^KN8006: .*unknown machine/)
    expect(existsSync(pairFile(dir))).toBe(false)
  })

  test('S2 with a certificate for another key is refused', async () => {
    const joining = joinCluster(deps()).catch(messageOf)
    const { cert } = await (await newAuthority()).client('kubenode:agent:m-1')
    await setStatus({ certificate: Buffer.from(cert).toString('base64') })
    expect(await joining).toMatch(/^KN8007: /)
    expect(existsSync(joinFile(dir))).toBe(true)
  })

  test('F34 on a copy of another host is refused', async () => {
    const stop = new AbortController()
    const first = joinCluster(deps({ signal: stop.signal })).catch(messageOf)
    for (let n = 0; n < 500 && (await requests()).length === 0; n++) await systemClock.sleep(5)
    stop.abort(new Error('killed'))
    await first
    mkdirSync(join(dir.root, 'etc'))
    writeFileSync(join(dir.root, 'etc/machine-id'), 'other\n')
    await expect(joinCluster(deps())).rejects.toThrow(/^KN8005: cannot start as m-1: .*another host/)
  })

  test('without a bundle says what to do', async () => {
    rmSync(joinFile(dir))
    await expect(joinCluster(deps())).rejects.toThrow(/^KN8008: .*kubenode machine join-command/)
  })

  test.each([
    ['with the token that it joined with is a left one', {}, false, ''],
    [
      'for another machine is not taken',
      { machine: 'm-2', token: 'ghijkl.0123456789abcdef' },
      true,
      'KN8005: cannot join again as m-2 of test: this host is m-1 of test',
    ],
    ['that is none is not taken', { token: undefined }, true, 'KN8003'],
    [
      'that the server does not take leaves everything as it was',
      { token: 'ghijkl.0123456789abcdef' },
      true,
      'the server is away',
    ],
  ])('a bundle on a host that has joined %s', async (_what, more, stays, says) => {
    const { cert, key } = await (await newAuthority()).client('kubenode:agent:m-1')
    const pair = { key, certificate: cert }
    // Only as far as the identity.
    const away = {
      connect: () => {
        throw new Error('the server is away')
      },
    }
    await joinCluster(deps(away)).catch(messageOf)
    await writePair(deps(), pair)
    const known = await readIdentity(deps())
    writeFileSync(joinFile(dir), JSON.stringify({ ...bundle, ...more }))
    const warnings: string[] = []
    const log = loggerTo((_level, _message, fields) => void warnings.push(JSON.stringify(fields)))
    const joined = await joinCluster(deps({ ...away, log }))
    expect(joined).toEqual({ identity: known, pair })
    expect([existsSync(joinFile(dir)), warnings.join(' ')]).toEqual([stays, expect.stringContaining(says)])
  })

  test('F40 the lock of a node is held once, and free again after its end', async () => {
    const lock = takeNodeLock(dir.state)
    expect(() => takeNodeLock(dir.state)).toThrow(/^KN8001: cannot start the agent on/)
    lock.release()
    takeNodeLock(dir.state).release()
  })
})

test('a request is named by machine and key', async () => {
  const key = await newKey()
  expect(requestName('m-1', key)).toBe(requestName('m-1', key))
  expect(requestName('m-1', key)).not.toBe(requestName('m-1', await newKey()))
  expect(requestName(`${'a'.repeat(39)}-b`, key)).toMatch(/^kubenode-agent-a{39}-[0-9a-f]{16}$/)
})

test('S2 a certificate is renewed between 60 percent and two thirds of its life', async () => {
  const { cert } = await (await newAuthority()).client('x')
  const day = 86_400_000
  const now = Date.now()
  const [earliest, latest] = [renewInMs(cert, now, 0), renewInMs(cert, now, 1)]
  // Valid from yesterday for 31 days.
  expect(Math.round(earliest / day)).toBe(Math.round(0.6 * 31 - 1))
  expect(Math.round(latest / day)).toBe(Math.round((2 / 3) * 31 - 1))
  expect(renewInMs(cert, now + 29 * day, 1)).toBe(0)
})
