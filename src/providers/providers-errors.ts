// The numbered errors of providers.
import { errorTable } from '#lib/error-table.ts'

export const providersErrors = errorTable({
  KN11001: {
    text: 'cannot read the record of the node in {dir}: {record} is damaged',
    next: 'remove the folder if the node is no longer wanted',
  },
  KN11002: {
    text: 'cannot start the agent of the node in {dir}: {file} {detail}',
    next: 'see {agentLog}',
  },
  KN11003: {
    text: 'cannot restart the node in {dir}: some of its processes do not end',
    next: 'it is tried again',
  },
  KN11010: {
    text: 'cannot tell who has the host of {machine}: the note of the static provider about it is damaged',
    next: 'remove it',
  },
  KN11011: {
    text: 'cannot reboot {providerID}: nobody but its agent can switch an existing host off and on',
    next: 'do it by hand when the agent is silent',
  },
  KN11020: {
    text: 'cannot make systemd machines: that needs root on this host',
    next: 'run as root, or use the provider process',
  },
  KN11021: {
    text: 'cannot run {file}: {detail}',
    next: 'check that it is installed and that we are root',
  },
  KN11022: {
    text: 'cannot mount the root of a machine at {root}',
    next: 'name a folder without ":", "," and spaces',
  },
  KN11023: {
    text: 'cannot start the machine in {dir}: its supervisor ended at once',
    next: 'see {console}',
  },
  KN11024: {
    text: 'cannot switch off the machine in {dir}: processes of it do not end',
    next: 'it is tried again',
  },
  KN11025: {
    text: 'the machine in {dir} is not up',
    next: 'see {console}',
  },
})
