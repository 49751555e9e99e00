// The git objects of a commit with edited files on top of another one. Unsigned, because the console does not have the user's key.
import type { LocalRepository } from '#sync/git/local-repository.ts'
import type { TreeEntry } from '#sync/git/tree-entries.ts'
import { NewObjects } from '#sync/revert/commit.ts'
import type { Edit } from './edit.ts'
import { type CommitMessage, messageText } from './patch.ts'

export interface NewCommit {
  readonly id: string
  readonly objects: NewObjects
}

export async function newCommit(
  repository: LocalRepository,
  base: string,
  edits: readonly Edit[],
  words: CommitMessage,
): Promise<NewCommit> {
  const objects = new NewObjects()
  let tree = await repository.idAt(base, '')
  for (const { path, after } of edits) {
    const blob = objects.add('blob', Buffer.from(after))
    tree = withFile({ repository, objects }, tree, path.split('/'), blob)
  }
  const who = `${words.author} <${words.email}> ${Math.floor(words.at / 1_000)} +0000`
  const text = `tree ${tree ?? ''}\nparent ${base}\nauthor ${who}\ncommitter ${who}\n\n${messageText(words)}`
  return { id: objects.add('commit', Buffer.from(text)), objects }
}

interface Trees {
  readonly repository: LocalRepository
  readonly objects: NewObjects
}

function withFile(trees: Trees, tree: string | undefined, path: readonly string[], blob: string): string {
  const [name = '', ...below] = path
  const { repository, objects } = trees
  const entries = tree === undefined ? [] : (objects.entriesOf(tree) ?? repository.treeEntries(tree, 'the fleet'))
  const old = entries.find((e) => e.name === name)
  const entry: TreeEntry =
    below.length === 0
      ? { ...old, name, kind: 'file', oid: blob }
      : { name, kind: 'tree', oid: withFile(trees, old?.kind === 'tree' ? old.oid : undefined, below, blob) }
  return objects.addTree([...entries.filter((e) => e.name !== name), entry].toSorted(inGitOrder))
}

/** Git sorts folders as if their names ended with a slash. */
const treeOrder = ({ name, kind }: TreeEntry): Buffer => Buffer.from(kind === 'tree' ? `${name}/` : name)
const inGitOrder = (a: TreeEntry, b: TreeEntry): number => Buffer.compare(treeOrder(a), treeOrder(b))
