// Replaces the git program on machines without git: runs one task against one server over https, with isomorphic-git. It runs in the same limits as git,
// and reports failures in git's words, so that one parser explains both.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import git from 'isomorphic-git'
import { messageOf } from '#lib/errors.ts'
import { GIT_DIR, objectFiles } from '../objects/object-files.ts'
import { Damaged } from '../objects/inflate.ts'
import { ObjectStore, TooLarge, type GitObject } from '../objects/object-store.ts'
import { requireBoundedPack } from './bounded-pack.ts'
import { httpClient } from './http-client.ts'
import { EXIT, type FetchTask, type ListTask, type PushTask, type Task } from './task.ts'

/** Object size that isomorphic-git may read of an earlier version: commits, folders, and files that deltas are based on. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024
const NO_COMMIT = '0'.repeat(40)
const REMOTE = 'origin'
/** isomorphic-git needs to know where refs go; they are moved below, when everything is in place. */
const CONFIG = `[remote "${REMOTE}"]\n\tfetch = +refs/*:refs/remotes/${REMOTE}/*\n`

class Shallow extends Error {
  override readonly name = 'Shallow'
}

async function list(task: ListTask): Promise<void> {
  const lines = (await refsOf(task))
    .filter(({ ref }) => task.prefixes.some((prefix) => ref.startsWith(prefix)))
    .map(({ ref, oid, target }) => `${target === undefined ? '' : `ref: ${target}\t${ref}\n`}${oid}\t${ref}\n`)
  process.stdout.write(lines.join(''))
}

async function refsOf(task: Task) {
  const refs = await git.listServerRefs({ http: httpClient(task), url: task.url, protocolVersion: 1, symrefs: true })
  // isomorphic-git mistakes the commits at which a shallow clone ends for names.
  if (refs.some(({ oid }) => oid === 'shallow')) throw new Shallow()
  return refs
}

async function fetch(task: FetchTask): Promise<void> {
  const { dir, url, from, to } = task
  const store = new ObjectStore(join(dir, 'objects'))
  const refs = await refsOf(task)
  const wanted = /^[0-9a-f]{40}$/.test(from) ? from : refs.find(({ ref }) => ref === from)?.oid
  if (wanted === undefined) throw new Error(`couldn't find remote ref ${from}`)
  const have = readRef(dir, to)
  if (have !== wanted) await fetchObjects(task, store, have)
  // A server may send a pack without the requested commit.
  if (store.read(wanted, MAX_OBJECT_BYTES) === undefined) throw new Error(`${url} did not send ${wanted}`)
  writeWhole(dir, to, `${wanted}\n`)
  writeWhole(dir, 'FETCH_HEAD', `${wanted}\t\t${url}\n`)
}

async function fetchObjects(task: FetchTask, store: ObjectStore, have: string | undefined): Promise<void> {
  const { dir, url, from, to } = task
  const texts = new Map([['config', CONFIG]])
  if (have !== undefined) texts.set(to, `${have}\n`)
  let pack: { readonly name: string; readonly bytes: Uint8Array } | undefined
  const write = async (path: string, bytes: Uint8Array): Promise<void> => {
    if (path === 'shallow' && bytes.length > 0) throw new Shallow()
    if (/^objects\/pack\/pack-[0-9a-f]{40}\.pack$/.test(path)) {
      requireBoundedPack(Buffer.from(bytes))
      pack = { name: path, bytes }
    }
    // A pack is valid only with its index, so the index is written last.
    if (pack === undefined || path !== pack.name.replace(/pack$/, 'idx')) return
    writeWhole(dir, pack.name, pack.bytes)
    writeWhole(dir, path, bytes)
  }
  const fs = objectFiles({ objectOf: (oid) => store.read(oid, MAX_OBJECT_BYTES), texts, write })
  const about = { fs, http: httpClient(task), gitdir: GIT_DIR, url, remote: REMOTE, cache: {} }
  await git.fetch({ ...about, ref: to, remoteRef: from, singleBranch: true, tags: false })
}

async function push(task: PushTask): Promise<void> {
  const { objects, url, commit, ref, expected } = task
  const stores = objects.map((folder) => new ObjectStore(folder))
  const objectOf = (oid: string): GitObject | undefined => {
    for (const store of stores) {
      const found = store.read(oid, MAX_OBJECT_BYTES)
      if (found !== undefined) return found
    }
    return undefined
  }
  const texts = new Map([
    ['config', CONFIG],
    [ref, `${commit}\n`],
  ])
  const fs = objectFiles({ objectOf, texts, write: async () => undefined })
  let isMoved = false
  const onPrePush = ({ remoteRef }: { readonly remoteRef: { readonly oid: string } }) => {
    isMoved = remoteRef.oid !== (expected ?? NO_COMMIT)
    return !isMoved
  }
  const onMessage = (line: string) => void process.stderr.write(`remote: ${line}`)
  const about = { fs, http: httpClient(task), gitdir: GIT_DIR, url, remote: REMOTE, cache: {}, onPrePush, onMessage }
  try {
    await git.push({ ...about, ref, remoteRef: ref, force: true })
  } catch (error) {
    const [, why] = /- refs\/\S+: (.+)/.exec(messageOf(error)) ?? []
    if (!isMoved && why === undefined) throw error
    // In git's format.
    throw new Error(`! [rejected] ${commit} -> ${ref} (${isMoved ? 'stale info' : why})`, { cause: error })
  }
}

/** As this program wrote it; without it the server sends everything. */
function readRef(dir: string, ref: string): string | undefined {
  const file = join(dir, ref)
  const text = existsSync(file) ? readFileSync(file, 'latin1').trim() : ''
  return /^[0-9a-f]{40}$/.test(text) ? text : undefined
}

/** Writes next to the final path, then moves; a leftover is removed like one of git's. */
function writeWhole(dir: string, path: string, content: string | Uint8Array): void {
  const file = join(dir, path)
  const partial = join(dirname(file), `${basename(file)}.lock`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(partial, content)
  renameSync(partial, file)
}

async function run(task: Task): Promise<void> {
  switch (task.kind) {
    case 'List':
      return list(task)
    case 'Fetch':
      return fetch(task)
    case 'Push':
      return push(task)
    default:
      return task satisfies never
  }
}

function exitOf(error: unknown): number {
  const [, ofServer] = /"ERR ([\s\S]*)"/.exec(messageOf(error)) ?? []
  const output = ofServer === undefined ? messageOf(error) : `remote error: ${ofServer}`
  const what = error instanceof Damaged ? 'the pack that the server sent ' : ''
  process.stderr.write(output.startsWith('!') ? `${output}\n` : `fatal: ${what}${output}\n`)
  if (error instanceof TooLarge) return EXIT.tooLarge
  return error instanceof Shallow ? EXIT.shallow : 1
}

// A server may keep connections open, but the task is done.
process.exit(await run(JSON.parse(await text(process.stdin)) as Task).then(() => 0, exitOf))
