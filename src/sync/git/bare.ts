// Creates an empty bare repository that git and sync's own reader accept, without the host's templates.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n'

/** `borrowFrom`: object folders that the repository also reads from. */
export function makeBare(dir: string, borrowFrom: readonly string[] = []): void {
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(join(dir, folder), { recursive: true })
  writeFileSync(join(dir, 'config'), CONFIG)
  writeFileSync(join(dir, 'HEAD'), 'ref: refs/heads/main\n')
  if (borrowFrom.length > 0)
    writeFileSync(join(dir, 'objects/info/alternates'), borrowFrom.map((folder) => `${folder}\n`).join(''))
}
