// How GRUB gives up a deployment of bootc by itself: it counts boots, and boots the second entry of its menu once none is left. Pure.
// Invariant: while one boot is counted, the deployment that becomes the default is booted once, and the one before at every later boot.
import {
  type BootTree,
  type Steps,
  grubBlock,
  grubFolder,
  noBlock,
  notWritable,
  textIn,
  without,
} from './boot-loader.ts'

export interface BootCounting {
  /** A boot is counted, or GRUB has already given a deployment up. */
  readonly isOn: boolean
  /** Exactly one boot is left. */
  readonly isOne: boolean
  /** The next boot is the first entry of the menu, each later one the second. */
  readonly countOne: () => Steps
  /** The first entry is booted from now on. */
  readonly stop: () => Steps
}

const [COUNTER, SUCCESS] = ['boot_counter', 'boot_success'] as const

/** As greenboot brings it for bootupd, and grub2 of Fedora in /etc/grub.d. */
const COUNTS = /^[ \t]{0,64}if {1,8}\[ {1,8}-n "\$\{boot_counter\}" -a "\$\{boot_success\}" = "0" {1,8}\]/m
const GIVES_UP = /^[ \t]{0,64}set default=1[ \t]{0,64}$/m
const SAVES = /^[ \t]{0,64}save_env (?:\w{1,64} ){0,4}boot_counter/m
const LISTS = /^[ \t]{0,64}blscfg[ \t]{0,64}$/m
const READS_SAVED = /\$\{saved_entry\}/
/** OSTree names them by their order, the default with the highest number. */
const OF_OSTREE = /^ostree-\d{1,4}(-[\w.-]{1,64})?\.conf$/
const ENTRIES = '/boot/loader/entries/'

export function bootCountingOf(tree: BootTree): BootCounting | { readonly missing: string } {
  const folder = grubFolder(tree)
  if (folder === undefined)
    return { missing: 'images are booted with GRUB only, and its configuration is not below /boot' }
  const config = textIn(tree, `${folder}/grub.cfg`)
  const block = grubBlock(tree, folder)
  if (block === undefined) return { missing: noBlock(folder) }
  if (![COUNTS, GIVES_UP, SAVES, LISTS].every((part) => part.test(config)))
    return {
      missing: `${folder}/grub.cfg does not count boots, as greenboot makes it: a bad image would boot again and again`,
    }
  const { variables, change } = block
  if (READS_SAVED.test(config) && (variables.get('saved_entry') ?? '') !== '')
    return { missing: 'saved_entry of GRUB chooses what boots: run grub2-editenv - unset saved_entry' }
  const fixed = notWritable(tree)
  if (fixed !== undefined) return { missing: fixed }
  const other = [...tree.paths].find((path) => path.startsWith(ENTRIES) && !OF_OSTREE.test(path.slice(ENTRIES.length)))
  if (other !== undefined)
    return { missing: `${other} is not an entry of OSTree, so it is unknown which entry of the menu is the second` }
  return {
    isOn: (variables.get(COUNTER) ?? '') !== '',
    isOne: variables.get(COUNTER) === '1' && variables.get(SUCCESS) === '0',
    countOne: () => change(new Map([...variables, [COUNTER, '1'], [SUCCESS, '0']])),
    stop: () => change(without(variables, COUNTER)),
  }
}
