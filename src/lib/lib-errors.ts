// The numbered errors of lib.
import { errorTable } from '#lib/error-table.ts'

export const libErrors = errorTable({
  KN1002_duration: {
    text: 'not a duration: {text}',
    next: 'write one like 90s, 5m or 1h30m',
  },
  KN1040: {
    text: 'cannot use {path}: it belongs to another user (uid {uid}, not {own})',
    next: 'remove it, give it to the user that runs kubenode (chown -R), or use another folder',
  },
  KN1040_writable: {
    text: 'cannot use {path}: {seen}, so another user could replace what is in it',
    next: 'run {command}, or choose another folder',
  },
  KN1040_secondName: {
    text: 'cannot use {path}: it is a second name of a file elsewhere, and other users could write to its folder',
    next: 'remove it if it is not yours, or use another folder',
  },
  KN1044: {
    text: 'too many {what} at once: {most} are waiting',
    next: 'retried automatically; try again when some of them are done',
  },
  KN1030: {
    text: 'cannot use the pattern {pattern}: {reason}',
    next: 'write it in RE2 syntax',
  },
})
