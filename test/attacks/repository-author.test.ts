// The attacker writes the repository, or is the server it lies on: attributes, pointers, names and numbers of files change neither what sync reads nor what people are shown.
import { mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { createValidator } from '#api/validate.ts'
import { systemClock } from '#lib/system-clock.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import { Verification } from '#sync/hub/source/verified.ts'
import { SignedRepository } from '#test/support/fleets/signed-repository.ts'
import { onlyInFull } from '#test/support/tools/full.ts'

const { PATH = '' } = process.env
let r: SignedRepository
let folder: string
let anchor: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-author-'))
  r = new SignedRepository(['ada', 'bob'])
  anchor = r.commit({ 'fleet/a.ts': '1' }, { key: undefined })
})
afterAll(() => {
  r.remove()
  rmSync(folder, { recursive: true, force: true })
})

test('S28 attributes and pointers of large files change no byte of what is read', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12345\n`
  const text = '$Id$ $Format:%H$\r\nline\r\n'
  const attributes = '* filter=lfs text eol=lf ident export-subst export-ignore working-tree-encoding=UTF-16\n'
  // Without a work tree, where the attributes would change the bytes on the way in.
  const blob = (content: string) => r.inBare(['hash-object', '-w', '--stdin', '--no-filters'], Buffer.from(content))
  const line = (mode: string, type: string, id: string, name: string) => `${mode} ${type} ${id}\t${name}\n`
  const made = (content: string) => r.inBare(['mktree'], Buffer.from(content))
  const fleet = made(line('100644', 'blob', blob(pointer), 'big.ts') + line('100644', 'blob', blob(text), 'main.ts'))
  const tree = made(line('100644', 'blob', blob(attributes), '.gitattributes') + line('040000', 'tree', fleet, 'fleet'))
  const id = r.inBare(['-c', 'user.name=e', '-c', 'user.email=e@e', 'commit-tree', tree, '-p', anchor, '-m', 'raw'])
  r.inBare(['update-ref', 'refs/heads/raw', id])
  const options = { cacheDir: join(folder, 'cache'), env: { PATH } }
  const copy = await fetchMirror(`file://${r.bare}`, { branch: 'raw' }, options)
  const files = await copy.readTree(id, ['fleet'])
  expect(Buffer.from(files.get('fleet/big.ts') ?? []).toString()).toBe(pointer)
  expect(Buffer.from(files.get('fleet/main.ts') ?? []).toString()).toBe(text)
})

async function judged(head: string, paths: readonly string[]): Promise<string> {
  const source = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: 'kubenode-system', uid: 'u-1' },
    spec: {
      url: r.url,
      ref: { branch: 'main' },
      path: '.',
      verify: { mode: 'All', anchor, signers: [{ principal: 'bob@example.org', keys: [r.publicKey('bob')], paths }] },
      tracks: [{ name: 'fleet', match: {}, pipelineRef: { name: 'standard' } }],
    },
  } as unknown as FleetSource
  const trust = await new Verification(systemClock, createValidator()).judge({
    source,
    repository: openLocalRepository(r.url),
    head,
    approved: new Map(),
    now: Date.now(),
    signal: new AbortController().signal,
  })
  return trust.kind === 'Refused' ? `${trust.reason}: ${trust.message}` : trust.kind
}

/** On top of the anchor, signed by bob. */
function bobs(files: Readonly<Record<string, string>>): string {
  r.git('checkout', '--quiet', '--force', '--detach', anchor)
  r.write(files)
  r.git(...r.signedBy('bob'), 'commit', '-S', '--quiet', '-m', 'change')
  const id = r.git('rev-parse', 'HEAD')
  r.git('push', '--quiet', 'origin', `HEAD:refs/heads/try-${id.slice(0, 16)}`)
  return id
}

test('S34 more changes than are looked at are changes of everything, so a signer with paths cannot hide one among them', async (context) => {
  onlyInFull(context)
  const many = Object.fromEntries(Array.from({ length: 5_200 }, (_, n) => [`rules/${n}.ts`, `${n}`]))
  expect(await judged(bobs({ 'rules/one.ts': 'x' }), ['rules/**'])).toBe('Verified')
  expect(await judged(bobs({ ...many, 'fleet/hidden.ts': 'x' }), ['rules/**'])).toMatch(/^PathNotAllowed: KN7032/)
})

test.each([
  ['a newline and a forged message', 'other/x\nKN7001: all is well'],
  ['an escape sequence', 'other/\u001b[2Jx'],
  ['a quote and markup', 'other/"><script>x'],
  ['names that differ in case', 'RULES/x.ts'],
  ['a trailing space', 'rules /x.ts'],
  ['two dots inside a name', 'rules/..x/../../fleet'.replaceAll('/../', '/.. /')],
])('S34 a path outside with %s is refused, in one printable line', async (_, path) => {
  const said = await judged(bobs({ [path]: 'x' }), ['rules/*.ts'])
  expect(said).toMatch(/^(PathNotAllowed|Unreadable|Malformed): KN70/)
  const { printableLine } = await import('#lib/printable.ts')
  // As refusals are written to the status.
  expect(printableLine(said)).not.toMatch(/[\u0000-\u001f\u007f]/) // oxlint-disable-line no-control-regex
})

test('S13 names of branches that a server makes up reach no second line of a message, and no branch of the copy', async () => {
  const now = Date.now()
  const authority = newAuthority('git', { now, days: 2 })
  const { key, certificate } = issueCertificate(authority, {
    subject: { commonName: 'server' },
    validity: { now, days: 1 },
    usage: 'server',
    hosts: ['localhost'],
  })
  const packet = (text: string) => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text
  const names = [
    'refs/heads/a\nKN7001: all is well',
    'refs/heads/\u001b[31mred',
    'refs/heads/../../config',
    'refs/heads/--upload-pack=touch',
    'refs/replace/aaaa',
    'HEAD\nrefs/heads/main',
  ]
  const server = createServer({ key, cert: certificate }, (_request, response) => {
    response.setHeader('content-type', 'application/x-git-upload-pack-advertisement')
    const refs = names.map((name, n) => packet(`${'a'.repeat(40)} ${name}${n === 0 ? '\0side-band-64k' : ''}\n`))
    response.end(`${packet('# service=git-upload-pack\n')}0000${refs.join('')}0000`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const failed = await fetchMirror(
      `https://localhost:${(server.address() as AddressInfo).port}/x`,
      { branch: 'main' },
      {
        cacheDir: join(folder, 'cache'),
        env: { PATH },
        access: { kind: 'Https', authorities: authority.certificate, secrets: [] },
        reach: { trusted: ['localhost'] },
      },
    ).then(
      () => 'fetched',
      (error: Error) => error.message,
    )
    expect(failed).toMatch(/^KN70(09|49): /)
    expect(failed).not.toMatch(/[\u0000-\u001f\u007f]/) // oxlint-disable-line no-control-regex
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
