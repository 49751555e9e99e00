// `npm run pack [-- FOLDER]`: makes the file that a fleet repository depends on, without a registry.
import { resolve } from 'node:path'
import { packRelease } from '#install/package/pack.ts'

const { file, bytes, integrity } = await packRelease(resolve(process.argv[2] ?? 'dist'))
process.stdout.write(`${JSON.stringify({ file, bytes, integrity })}\n`)
