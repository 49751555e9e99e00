// The file system port on a host without an agent: each operation is one snippet in a dialog over SSH. What the host answers is hostile input: only sizes,
// times and digests are read from it, and a name in a listing that could be a path is refused.
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { Channel, Reply } from '#ssh/channel.ts'
import { quoted } from '#ssh/channel.ts'
import { agentErrors } from '../agent-errors.ts'
import { ReadPool } from './read-pool.ts'
import type { Files, FileStat, FileWriter, Owner } from './port.ts'

/** A disk that syncs a large program, or a folder that is removed with everything in it. */
const DEADLINE_MS = 60_000
/** The largest state file is the definition of a component, which the API server limits. */
const MAX_READ_BYTES = 2 * 2 ** 20
/** In base64, it is a part of one snippet. */
const CHUNK_BYTES = 64 * 1024
const READ_BYTES = 256 * 1024
const MAX_LISTED_BYTES = 2 ** 20
/** A snippet answers with it that nothing is at the path. */
const ABSENT = 44

/** `readable`: the file, or what the link leads to. Of anything else, such as a named pipe, nothing is read. */
const IF_FILE = (path: string): string => `[ -e ${path} ] || exit ${ABSENT}; [ -f ${path} ] || exit 0`
const OWNED = (path: string, owner: Owner | undefined): string =>
  owner === undefined ? '' : ` && chown -h ${owner.uid}:${owner.gid} -- ${path}`
const octal = (mode: number): string => mode.toString(8)

/** `reads`: what the session may hold in memory. */
export function filesOverSsh(channel: Pick<Channel, 'ask'>, reads = new ReadPool().session()): Files {
  const tried = (snippet: string, maxBytes?: number): Promise<Reply> =>
    channel.ask({ snippet, deadlineMs: DEADLINE_MS, ...defined({ maxBytes }) })
  const done = async (what: string, path: string, snippet: string, maxBytes?: number): Promise<Buffer> => {
    const { code, stdout, stderr } = await tried(snippet, maxBytes)
    if (code !== 0)
      throw new KubeNodeError(agentErrors.KN8096({ what, path, why: stderr || `exited with code ${code}` }), {
        retry: 'later',
      })
    return stdout
  }
  const appending = (path: string): FileWriter => ({
    async write(chunk) {
      for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
        const text = chunk.subarray(at, at + CHUNK_BYTES).toString('base64')
        await done('write', path, `printf %s ${text} | base64 -d >> ${quoted(path)}`)
      }
    },
    sync: async () => void (await done('sync', path, `sync -- ${quoted(path)}`)),
    close: async () => undefined,
  })
  return {
    async read(path) {
      const p = quoted(path)
      const { code, stdout, stderr } = await tried(
        `${IF_FILE(p)}; head -c ${MAX_READ_BYTES + 1} -- ${p}`,
        MAX_READ_BYTES + 1,
      )
      if (code === ABSENT) return undefined
      if (code !== 0)
        throw new KubeNodeError(agentErrors.KN8096({ what: 'read', path, why: stderr }), { retry: 'later' })
      if (stdout.length > MAX_READ_BYTES)
        throw new KubeNodeError(agentErrors.KN8096({ what: 'read', path, why: `more than ${MAX_READ_BYTES} bytes` }))
      if (!reads.hold(path, stdout))
        throw new KubeNodeError(
          agentErrors.KN8096({
            what: 'read',
            path,
            why: 'the files read from hosts in this session take too much memory',
          }),
          { retry: 'later' },
        )
      return stdout
    },

    async *stream(path) {
      const p = quoted(path)
      for (let block = 0; ; block++) {
        const chunk = await done(
          'read',
          path,
          `[ -f ${p} ] || { echo 'no file' >&2; exit 1; }; dd if=${p} bs=${READ_BYTES} skip=${block} count=1 status=none`,
          READ_BYTES,
        )
        if (chunk.length > 0) yield chunk
        if (chunk.length < READ_BYTES) return
      }
    },

    async digest(path) {
      const text = (await done('read', path, `sha256sum < ${quoted(path)}`)).toString('latin1')
      const digest = /^[0-9a-f]{64}(?=\s)/.exec(text)?.[0]
      if (digest === undefined) throw new KubeNodeError(agentErrors.KN8096({ what: 'read', path, why: 'no digest' }))
      return digest
    },

    async stat(path) {
      const p = quoted(path)
      const { code, stdout, stderr } = await tried(
        `[ -e ${p} ] || [ -L ${p} ] || exit ${ABSENT}; stat -c '%f %s %.9Y %.9Z %u %g' -- ${p}`,
      )
      if (code === ABSENT) return undefined
      const found = code === 0 ? parseStat(stdout.toString('latin1')) : undefined
      if (found === undefined)
        throw new KubeNodeError(agentErrors.KN8096({ what: 'read', path, why: stderr || 'no such answer of stat' }), {
          retry: 'later',
        })
      return found
    },

    async list(path) {
      const p = quoted(path)
      const text = await done('list', path, `[ -d ${p} ] || exit 0; ls -A -U -w 0 -1 -- ${p}`, MAX_LISTED_BYTES)
      const names = text.toString('utf8').split('\n').slice(0, -1)
      // A name with a line break comes as two, of which neither exists.
      const bad = names.find((name) => name === '' || name === '.' || name === '..' || name.includes('/'))
      if (bad !== undefined)
        throw new KubeNodeError(agentErrors.KN8096({ what: 'list', path, why: 'names that are paths' }))
      return names.sort((a, b) => (a < b ? -1 : 1))
    },

    async readLink(path) {
      const p = quoted(path)
      const { code, stdout, stderr } = await tried(`[ -L ${p} ] || exit ${ABSENT}; readlink -n -- ${p}`)
      if (code === ABSENT) return undefined
      if (code !== 0)
        throw new KubeNodeError(agentErrors.KN8096({ what: 'read', path, why: stderr }), { retry: 'later' })
      return stdout.toString('utf8')
    },

    async makeFolder(path, mode) {
      const p = quoted(path)
      // Folders that were there keep their mode.
      const set = mode === undefined ? 'umask 022; ' : `umask ${octal(0o777 & ~mode)}; `
      await done('create', path, `${set}mkdir -p -- ${p}`)
    },

    async create(path, mode, owner) {
      const p = quoted(path)
      // `noclobber` opens with O_EXCL; a link at the path is not followed.
      const snippet = `[ ! -L ${p} ] || { echo 'a link is there' >&2; exit 1; }; set -C; : > ${p}${OWNED(p, owner)} && chmod ${octal(mode)} -- ${p}`
      await done('create', path, snippet)
      return appending(path)
    },

    async append(path) {
      const p = quoted(path)
      await done('write', path, `[ -f ${p} ] && [ ! -L ${p} ]`)
      return appending(path)
    },

    async copyWhole(from, to) {
      const [f, t] = [quoted(from), quoted(to)]
      const copied = `cp --no-dereference --preserve=all --no-clobber -- ${f} ${t} && { [ -L ${t} ] || sync -- ${t}; }`
      const { code } = await channel.ask({
        snippet: `${copied} || { rm -f -- ${t}; exit 1; }`,
        deadlineMs: COPY_WITHIN_MS,
      })
      return code === 0
    },

    async link(path, target, owner) {
      const p = quoted(path)
      await done('create', path, `ln -s -T -- ${quoted(target)} ${p}${OWNED(p, owner)}`)
    },

    async rename(from, to) {
      // Both are in one folder, or in folders of one file system, where mv is rename(2).
      await done('rename', from, `mv -f -T -- ${quoted(from)} ${quoted(to)}`)
    },

    async remove(path) {
      await done('remove', path, `rm -rf -- ${quoted(path)}`)
    },

    async removeEmptyFolder(path) {
      const p = quoted(path)
      return (await tried(`rmdir -- ${p}`)).code === 0
    },

    async syncFolder(path) {
      await done('sync', path, `sync -- ${quoted(path)}`)
    },
  }
}

/** As the agent's own files: the largest programs, on a slow disk. */
const COPY_WITHIN_MS = 10 * 60_000

const TYPES: Readonly<Record<number, FileStat['kind']>> = { 0o10: 'File', 0o04: 'Directory', 0o12: 'Link' }
const STAT = /^([0-9a-f]{1,8}) (\d{1,16}) (\d{1,12}\.\d{9}) (\d{1,12}\.\d{9}) (\d{1,10}) (\d{1,10})\n$/

function parseStat(text: string): FileStat | undefined {
  const [, raw, size, modified, changed, uid, gid] = STAT.exec(text) ?? []
  if (raw === undefined) return undefined
  const mode = Number.parseInt(raw, 16)
  return {
    kind: TYPES[mode >> 12] ?? 'Other',
    size: Number(size),
    modifiedMs: Number(modified) * 1_000,
    changedMs: Number(changed) * 1_000,
    mode: mode & 0o7777,
    owner: { uid: Number(uid), gid: Number(gid) },
  }
}
