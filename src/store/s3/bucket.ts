/** Objects of a bucket by the SDK, with its retries off: what an answer means, and whether a write may have happened. */
import type * as S3 from '@aws-sdk/client-s3';
import { denied, full, storeUnreachable, unfit } from '../failures.ts';
import { Unanswered, type Call } from '../gate.ts';
import { loadS3 } from '../packages.ts';

export interface BucketOptions {
  /** How the store is called in logs and errors. */
  readonly url: string;
  readonly bucket: string;
  /** Of a server that is not Amazon's; buckets are folders of it, not hosts. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Where the environment of the SDK has none. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

export interface FoundObject {
  readonly value: Uint8Array;
  /** Without quotes: some servers match only that. */
  readonly tag: string;
}

/** What a write is made on. */
export interface Conditions {
  readonly ifNone?: boolean;
  readonly ifMatch?: string;
}

/** `refused`: the condition did not hold, and nothing has changed. `unknown`: the answer does not tell. */
export type PutOutcome = 'done' | 'refused' | 'unknown';

const LIST_PAGE = 1000;

export class Bucket {
  readonly #sdk: typeof S3;
  readonly #client: S3.S3Client;
  readonly #options: BucketOptions;

  private constructor(sdk: typeof S3, options: BucketOptions) {
    this.#sdk = sdk;
    this.#options = options;
    const { endpoint, region = 'us-east-1', credentials } = options;
    this.#client = new sdk.S3Client({
      region,
      maxAttempts: 1,
      retryMode: 'standard',
      // Servers that are not Amazon's know neither checksums by default nor buckets as hosts.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      ...(credentials === undefined ? {} : { credentials }),
    });
  }

  static async open(options: BucketOptions): Promise<Bucket> {
    return new Bucket(await loadS3(), options);
  }

  close(): void {
    this.#client.destroy();
  }

  async get(call: Call, Key: string): Promise<FoundObject | null> {
    call.goOn();
    try {
      const { Body, ETag = '' } = await this.#client.send(
        new this.#sdk.GetObjectCommand({ Bucket: this.#options.bucket, Key }),
        signalOf(call),
      );
      return { value: (await Body?.transformToByteArray()) ?? new Uint8Array(0), tag: ETag.replaceAll('"', '') };
    } catch (error) {
      if (statusOf(error) === 404 && nameOfError(error) !== 'NoSuchBucket') return null;
      throw this.#failure(error);
    }
  }

  /** Null deletes. An unconditional write that fails throws `Unanswered`. */
  async put(call: Call, Key: string, body: Uint8Array | null, { ifNone, ifMatch }: Conditions): Promise<PutOutcome> {
    call.goOn();
    const where = { Bucket: this.#options.bucket, Key };
    const isConditional = ifNone === true || ifMatch !== undefined;
    try {
      if (body === null) {
        await this.#client.send(new this.#sdk.DeleteObjectCommand(where), signalOf(call));
        return 'done';
      }
      const condition = ifNone === true ? { IfNoneMatch: '*' } : ifMatch === undefined ? {} : { IfMatch: ifMatch };
      await this.#client.send(new this.#sdk.PutObjectCommand({ ...where, Body: body, ...condition }), signalOf(call));
      return 'done';
    } catch (error) {
      const status = statusOf(error);
      // Changed, or gone. 409 says only that another write was under way; the object tells the outcome of this one.
      if (isConditional && (status === 412 || (status === 404 && nameOfError(error) !== 'NoSuchBucket'))) return 'refused';
      const failure = this.#failure(error);
      if (isConditional && failure.code === 'TENURE_STORE_UNREACHABLE' && status !== undefined) return 'unknown';
      throw failure.code === 'TENURE_STORE_UNREACHABLE' ? new Unanswered(failure) : failure;
    }
  }

  async list(call: Call, Prefix: string, after: string | null, limit: number): Promise<string[]> {
    call.goOn();
    try {
      const page = {
        Bucket: this.#options.bucket,
        Prefix,
        MaxKeys: Math.min(limit, LIST_PAGE),
        ...(after === null ? {} : { StartAfter: after }),
      };
      const { Contents = [] } = await this.#client.send(new this.#sdk.ListObjectsV2Command(page), signalOf(call));
      return Contents.flatMap(({ Key }) => (Key === undefined ? [] : [Key])).slice(0, limit);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #failure(error: unknown): ReturnType<typeof storeUnreachable> {
    const { url } = this.#options;
    const [status, name] = [statusOf(error), nameOfError(error)];
    if (name === 'NoSuchBucket') return unfit(url, `there is no bucket ${this.#options.bucket}`);
    if (status === 401 || status === 403 || name === 'CredentialsProviderError') return denied(url, error);
    if (status === 507 || name === 'QuotaExceeded') return full(url, error);
    return storeUnreachable(url, error);
  }
}

function signalOf(call: Call): { abortSignal: AbortSignal } {
  const controller = new AbortController();
  call.onGivenUp(() => controller.abort());
  return { abortSignal: controller.signal };
}

/** Undefined if no answer came. */
function statusOf(error: unknown): number | undefined {
  return (error as { readonly $metadata?: { readonly httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;
}

function nameOfError(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
