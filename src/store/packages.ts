/** Optional packages: loaded when a store that needs one is opened, and named with the command that installs them. */
import type * as S3 from '@aws-sdk/client-s3';
import type * as Ioredis from 'ioredis';
import type * as Pg from 'pg';
import { TenureError } from '../kernel/index.ts';

export async function loadPg(): Promise<typeof Pg> {
  return await load('pg', 'postgres:', async () => await import('pg'));
}

export async function loadIoredis(): Promise<typeof Ioredis> {
  return await load('ioredis', 'redis:', async () => await import('ioredis'));
}

export async function loadS3(): Promise<typeof S3> {
  return await load('@aws-sdk/client-s3', 's3:', async () => await import('@aws-sdk/client-s3'));
}

async function load<Module>(name: string, kind: string, importing: () => Promise<Module>): Promise<Module> {
  try {
    return await importing();
  } catch (error) {
    const failure = new TenureError(
      'TENURE_MISSING_PACKAGE',
      `a store of the kind ${kind} needs the package ${name}: npm install ${name}`,
      {
        package: name,
      },
    );
    failure.cause = error;
    throw failure;
  }
}
