// Makes a revert's git objects: the new trees, and the signed commit. The same facts give the same bytes, so a repeated attempt gives the same commit.
import { createHash } from 'node:crypto'
import type { TreeEntry } from '../git/tree-entries.ts'
import { sshSignature, type SigningKey } from '../trust/ssh-sign.ts'

export interface NewObject {
  readonly type: 'blob' | 'tree' | 'commit'
  readonly content: Buffer
}

export class NewObjects {
  readonly all = new Map<string, NewObject>()
  readonly #trees = new Map<string, readonly TreeEntry[]>()

  add(type: NewObject['type'], content: Buffer): string {
    const id = createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')
    this.all.set(id, { type, content })
    return id
  }

  readonly addTree = (entries: readonly TreeEntry[]): string => {
    const lines = entries.flatMap((e) => [Buffer.from(`${modeOf(e)} ${e.name}\0`), Buffer.from(e.oid, 'hex')])
    const id = this.add('tree', Buffer.concat(lines))
    this.#trees.set(id, entries)
    return id
  }

  entriesOf(tree: string): readonly TreeEntry[] | undefined {
    return this.#trees.get(tree)
  }
}

const MODES = { file: '100644', tree: '40000', symlink: '120000', submodule: '160000' } as const

const modeOf = ({ kind, isExecutable }: TreeEntry): string => (isExecutable === true ? '100755' : MODES[kind])

export interface CommitText {
  readonly tree: string
  readonly parent: string
  readonly at: number
  readonly message: string
}

const AUTHOR = 'KubeNode sync <sync@kubenode.io>'

export function signedCommit({ tree, parent, at, message }: CommitText, key: SigningKey): Buffer {
  const who = `${AUTHOR} ${Math.floor(at / 1_000)} +0000`
  const head = `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n`
  const signature = sshSignature(key, Buffer.from(`${head}\n${message}`))
  return Buffer.from(`${head}gpgsig ${signature.replaceAll('\n', '\n ')}\n\n${message}`)
}
