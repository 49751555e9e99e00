// Ten thousand signed commits at once, as after weeks without the hub: verified in passes, each of which lets other work run in between.
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { policyOf } from '#sync/trust/policy.ts'
import { wireString } from '#sync/trust/ssh-wire.ts'
import { RangeVerifier, type RangeVerdict } from '#sync/trust/verify-range.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'

const COMMITS = 10_000

let repository: SignedRepository
beforeEach(() => {
  repository = new SignedRepository(['ada'])
})
afterEach(() => repository.remove())

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const TYPE = 'ssh-ed25519'
const BLOB = Buffer.concat([
  wireString(TYPE),
  wireString(Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')),
])

function signature(payload: Buffer): string {
  const names = ['git', '', 'sha512'].map(wireString)
  const digest = createHash('sha512').update(payload).digest()
  const signed = sign(null, Buffer.concat([Buffer.from('SSHSIG'), ...names, wireString(digest)]), privateKey)
  const inner = wireString(Buffer.concat([wireString(TYPE), wireString(signed)]))
  const whole = Buffer.concat([Buffer.from('SSHSIG'), Buffer.from([0, 0, 0, 1]), wireString(BLOB), ...names, inner])
  const lines = whole.toString('base64').match(/.{1,70}/g) ?? []
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----'].join('\n ')
}

/** As git stores it; git itself would take minutes. */
function written(content: Buffer): string {
  const object = Buffer.concat([Buffer.from(`commit ${content.length}\0`), content])
  const id = createHash('sha1').update(object).digest('hex')
  const folder = join(repository.bare, 'objects', id.slice(0, 2))
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, id.slice(2)), deflateSync(object, { level: 1 }))
  return id
}

function commitsOn(anchor: string, tree: string): string {
  let parent = anchor
  for (let i = 0; i < COMMITS; i++) {
    const head = `tree ${tree}\nparent ${parent}\nauthor A <a@b> ${i + 1} +0000\ncommitter A <a@b> ${i + 1} +0000\n`
    const payload = Buffer.from(`${head}\nchange ${i}\n`)
    parent = written(Buffer.from(`${head}gpgsig ${signature(payload)}\n\nchange ${i}\n`))
  }
  return parent
}

test('10,000 commits are verified in passes, and other work runs in between', { timeout: 600_000 }, async () => {
  const anchor = repository.commit({ 'fleet/a.ts': '1' }, { key: undefined })
  const head = commitsOn(anchor, repository.git('rev-parse', `${anchor}^{tree}`))
  repository.inBare(['update-ref', 'refs/heads/main', head])
  repository.inBare(['gc', '--quiet'])
  const signers = [{ principal: 'ada', keys: [`${TYPE} ${BLOB.toString('base64')}`], paths: ['fleet/**'] }]
  const policy = await policyOf({ mode: 'All', anchor, signers }, undefined)
  const reader = openLocalRepository(repository.url)
  const verifier = new RangeVerifier(systemClock)
  const request = {
    reader,
    from: anchor,
    to: head,
    seen: new Map<string, number>(),
    approversOf: () => new Set<string>(),
    policyAt: async () => policy,
    now: Date.now(),
  }
  const passes: RangeVerdict[] = []
  const isRunning = () => passes.at(-1)?.kind !== 'Verified'
  let [turns, longestMs] = [0, 0]
  const others = (async () => {
    for (let last = performance.now(); isRunning(); turns++) {
      await setImmediate()
      longestMs = Math.max(longestMs, performance.now() - last)
      last = performance.now()
    }
  })()
  const cpu = process.cpuUsage()
  while (isRunning() && passes.length < 20) passes.push(await verifier.verify(request))
  const { user, system } = process.cpuUsage(cpu)
  await others
  process.stderr.write(
    `${COMMITS} commits: ${((user + system) / 1e6).toFixed(2)} s CPU in ${passes.length} passes, ${turns} turns of others, longest wait ${longestMs.toFixed(0)} ms\n`,
  )
  expect(passes.map((p) => (p.kind === 'Running' ? p.done : p.kind))).toEqual([2_000, 4_000, 6_000, 8_000, 'Verified'])
  expect(passes.at(-1)).toMatchObject({ commits: COMMITS, principal: 'ada' })
  // Without a break in between there would be a handful.
  expect(turns).toBeGreaterThan(100)

  const again = process.cpuUsage()
  await verifier.verify(request)
  const second = process.cpuUsage(again)
  process.stderr.write(`once more, from memory: ${((second.user + second.system) / 1e6).toFixed(2)} s CPU\n`)
})
